package disruption

import (
	"cmp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// A Deployment whose pods are all on one node serves nobody from their eviction until their successors are
// ready. Its only pod is the usual case. A PodDisruptionBudget prevents that, but it also keeps the node for
// ever where it allows no eviction. Where the owner asks for it, Whittle restarts the Deployment instead, as
// kubectl rollout restart does. New pods then come first. They come to another node, because the node is
// tainted. The old pods go once the new ones are ready.
const (
	// MoveByRestartAnnotationKey asks for such a restart. It is "true" on a Deployment's pod
	// template, or on a NodePool for the pods of all its nodes. "false" on a pod template
	// overrides the NodePool.
	MoveByRestartAnnotationKey = api.MoveByRestartAnnotationKey
	// RestartingSinceAnnotationKey is, on a NodeClaim whose replacements are initialized, the time
	// (RFC 3339) at which Deployments were restarted to move their pods off the node.
	RestartingSinceAnnotationKey = api.RestartingSinceAnnotationKey
	// RestartedAtAnnotationKey is the annotation that kubectl rollout restart writes on a pod
	// template.
	RestartedAtAnnotationKey = "kubectl.kubernetes.io/restartedAt"
)

// restartWithin is how long a restarted Deployment may take to have its new pods ready: the default
// of progressDeadlineSeconds. The node stays after that.
const restartWithin = 10 * time.Minute

// ToRestart returns a pod of each ReplicaSet of the node whose pods a restart should move. They ask for it,
// all active pods of the ReplicaSet are on the node, and no PodDisruptionBudget allows their evictions one
// after another.
func (s *Cluster) ToRestart(node *Node) []*corev1.Pod {
	pool := s.poolsByName()[node.pool()]
	known := map[types.UID]bool{}
	var found []*corev1.Pod
	for _, pod := range node.Pods {
		if !asksForRestart(pod, pool) || !scheduling.IsReschedulable(pod) || pod.DeletionTimestamp != nil ||
			!scheduling.IsEvicted(pod) {
			continue
		}
		owner := metav1.GetControllerOf(pod).UID
		if !known[owner] && s.isWhole(pod) && s.isUnguarded(pod) {
			found = append(found, pod)
		}
		known[owner] = true
	}
	return found
}

// isUnguarded tells whether no budget lets the pod be evicted without the workload's end: it has none, or
// one that allows no eviction now.
func (s *Cluster) isUnguarded(pod *corev1.Pod) bool {
	return len(protection.Covering(s.Budgets, pod)) == 0 || protection.RefusedByBudget(pod, s.Budgets) != ""
}

// blocked is the reason why the node's pods protect it from disruption, or "". The budget of pods that a
// restart moves does not: a rollout asks no budget.
func (s *Cluster) blocked(node *Node, now time.Time) string {
	restarted := map[types.UID]bool{}
	for _, pod := range s.ToRestart(node) {
		restarted[metav1.GetControllerOf(pod).UID] = true
	}
	if len(restarted) == 0 {
		return protection.Blocked(node.Pods, s.Budgets, now)
	}
	evicted := slices.DeleteFunc(slices.Clone(node.Pods), func(pod *corev1.Pod) bool {
		owner := metav1.GetControllerOf(pod)
		return owner != nil && restarted[owner.UID]
	})
	return cmp.Or(protection.Blocked(node.Pods, nil, now), protection.Blocked(evicted, s.Budgets, now))
}

func asksForRestart(pod *corev1.Pod, pool *api.NodePool) bool {
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "ReplicaSet" {
		return false
	}
	wanted := pod.Annotations[MoveByRestartAnnotationKey]
	if wanted == "" && pool != nil {
		wanted = pool.Annotations[MoveByRestartAnnotationKey]
	}
	return wanted == "true"
}

// isWhole tells whether all active pods of the pod's owner are on its node.
func (s *Cluster) isWhole(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod).UID
	elsewhere := func(other *corev1.Pod) bool {
		of := metav1.GetControllerOf(other)
		return of != nil && of.UID == owner && other.Spec.NodeName != pod.Spec.NodeName &&
			other.DeletionTimestamp == nil && !scheduling.IsTerminal(other)
	}
	return !slices.ContainsFunc(s.Waiting, elsewhere) && !slices.ContainsFunc(s.Running, elsewhere)
}

// Restartable tells whether a restart of the Deployment starts new pods before all old ones go. The
// Deployment must have a rolling update with a surge, and at least one pod that stays available.
func Restartable(deployment *appsv1.Deployment) bool {
	spec := &deployment.Spec
	replicas := 1
	if spec.Replicas != nil {
		replicas = int(*spec.Replicas)
	}
	rolling := spec.Strategy.RollingUpdate
	if replicas < 1 || spec.Paused || deployment.DeletionTimestamp != nil ||
		spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType || rolling == nil {
		return false
	}
	quarter := intstr.FromString("25%") // the API server's default for both
	surge, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(rolling.MaxSurge, quarter), replicas, true)
	if err != nil || surge < 1 {
		return false
	}
	unavailable, err := intstr.GetScaledValueFromIntOrPercent(
		intstr.ValueOrDefault(rolling.MaxUnavailable, quarter), replicas, false)
	return err == nil && unavailable < replicas
}

// RestartingSince is when restarts were begun for the node, if they were.
func (n *Node) RestartingSince() (since time.Time, begun bool) {
	since, err := time.Parse(time.RFC3339, n.Claim.Annotations[RestartingSinceAnnotationKey])
	return since, err == nil
}

// RestartTookTooLong tells whether to stop waiting for the new pods.
func (n *Node) RestartTookTooLong(now time.Time) bool {
	since, begun := n.RestartingSince()
	return begun && now.Sub(since) >= restartWithin
}

// BeginRestarts is the patch that records that Deployments are restarted from now on. The same time
// is written on them, so that none is restarted twice.
func BeginRestarts(claim *api.NodeClaim, now time.Time) map[string]any {
	return annotateVersion(claim, map[string]any{RestartingSinceAnnotationKey: now.UTC().Format(time.RFC3339)})
}

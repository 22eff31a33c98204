package disruption

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// The only pod of a Deployment is missed from its eviction until its successor is ready, unless a
// PodDisruptionBudget guards it. Where its owner asks for it, Whittle restarts the Deployment
// instead, as kubectl rollout restart does. The new pod then comes first. It comes to another node,
// because the node is tainted. The old pod goes once the new one is ready.
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

// restartWithin is how long a restarted Deployment may take to have its new pod ready: the default
// of progressDeadlineSeconds. The node stays after that.
const restartWithin = 10 * time.Minute

// ToRestart returns the pods of the node that a restart should move. Each asks for it, is the only
// active pod of its ReplicaSet, and has no PodDisruptionBudget.
func (s *Cluster) ToRestart(node *Node) []*corev1.Pod {
	pool := s.poolsByName()[node.pool()]
	var found []*corev1.Pod
	for _, pod := range node.Pods {
		if asksForRestart(pod, pool) && scheduling.IsReschedulable(pod) && pod.DeletionTimestamp == nil &&
			scheduling.IsEvicted(pod) && len(protection.Covering(s.Budgets, pod)) == 0 && s.isAlone(pod) {
			found = append(found, pod)
		}
	}
	return found
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

// isAlone tells whether no other active pod has the same owner.
func (s *Cluster) isAlone(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod).UID
	other := func(other *corev1.Pod) bool {
		of := metav1.GetControllerOf(other)
		return of != nil && of.UID == owner && other.UID != pod.UID &&
			other.DeletionTimestamp == nil && !scheduling.IsTerminal(other)
	}
	return !slices.ContainsFunc(s.Waiting, other) && !slices.ContainsFunc(s.Running, other)
}

// Restartable tells whether a restart of the Deployment starts the new pod before the old one goes.
// The Deployment must have one replica and a rolling update with a surge and no unavailable pod.
func Restartable(deployment *appsv1.Deployment) bool {
	spec := &deployment.Spec
	replicas := 1
	if spec.Replicas != nil {
		replicas = int(*spec.Replicas)
	}
	rolling := spec.Strategy.RollingUpdate
	if replicas != 1 || spec.Paused || deployment.DeletionTimestamp != nil ||
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
	return err == nil && unavailable == 0
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

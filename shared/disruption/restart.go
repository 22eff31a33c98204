package disruption

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// A pod that is the only one of its Deployment, and that no disruption budget guards, is
// missed from its eviction until another one is ready. Where its owner allows it, and asks for
// it, the Deployment is restarted instead, as kubectl rollout restart does: with surge the
// new pod comes first, elsewhere, since the node is tainted, and the old one goes once it is
// ready.
const (
	// MoveByRestartAnnotationKey asks for it: "true" in the annotations of a Deployment's pod
	// template, or on a NodePool for the pods of all its nodes; "false" on a pod template
	// keeps its pods from what the pool asks for.
	MoveByRestartAnnotationKey = api.OwnGroup + "/move-by-restart"
	// RestartingSinceAnnotationKey is, on a NodeClaim whose replacements are there, the time
	// (RFC 3339) for which Deployments were restarted to move their pods off its node.
	RestartingSinceAnnotationKey = api.OwnGroup + "/restarting-since"
	// RestartedAtAnnotationKey is what kubectl rollout restart writes on a pod template.
	RestartedAtAnnotationKey = "kubectl.kubernetes.io/restartedAt"
)

// restartWithin is how long a restarted Deployment may take to have its new pod ready: its
// own default, progressDeadlineSeconds. Then the node stays.
const restartWithin = 10 * time.Minute

// ToRestart are the pods of the node that ask to be moved by a restart: the only active one
// of their ReplicaSet, which no disruption budget guards.
func (s *Snapshot) ToRestart(node *Node) []*corev1.Pod {
	pool := s.poolsByName()[node.pool()]
	var found []*corev1.Pod
	for _, pod := range node.Pods {
		if asksForRestart(pod, pool) && scheduling.IsReschedulable(pod) && pod.DeletionTimestamp == nil && !toleratesDisruption(pod) && len(covers(s.Budgets, pod)) == 0 && s.isAlone(pod) {
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

// toleratesDisruption: such a pod's successor would come to the same node.
func toleratesDisruption(pod *corev1.Pod) bool {
	taint := api.DisruptedNoScheduleTaint()
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return scheduling.ToleratesTaint(&t, &taint) })
}

// isAlone tells whether no other active pod has the same owner.
func (s *Snapshot) isAlone(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod).UID
	other := func(other *corev1.Pod) bool {
		of := metav1.GetControllerOf(other)
		return of != nil && of.UID == owner && other.UID != pod.UID && other.DeletionTimestamp == nil && !scheduling.IsTerminal(other)
	}
	return !slices.ContainsFunc(s.Waiting, other) && !slices.ContainsFunc(s.Running, other)
}

// Restartable tells whether a restart of the Deployment brings its new pod before the old one
// goes: one replica, rolled with a surge, and nothing that may be unavailable.
func Restartable(deployment *appsv1.Deployment) bool {
	spec := &deployment.Spec
	replicas := 1
	if spec.Replicas != nil {
		replicas = int(*spec.Replicas)
	}
	if replicas != 1 || spec.Paused || deployment.DeletionTimestamp != nil || spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType || spec.Strategy.RollingUpdate == nil {
		return false
	}
	quarter := intstr.FromString("25%") // the API server's default for both
	surge, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(spec.Strategy.RollingUpdate.MaxSurge, quarter), replicas, true)
	if err != nil || surge < 1 {
		return false
	}
	unavailable, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(spec.Strategy.RollingUpdate.MaxUnavailable, quarter), replicas, false)
	return err == nil && unavailable == 0
}

// RestartingSince is when restarts were begun for the node, if they were.
func (n *Node) RestartingSince() (since time.Time, begun bool) {
	since, err := time.Parse(time.RFC3339, n.Claim.Annotations[RestartingSinceAnnotationKey])
	return since, err == nil
}

// RestartTookTooLong tells whether the new pods are not to be waited for any longer.
func (n *Node) RestartTookTooLong(now time.Time) bool {
	since, begun := n.RestartingSince()
	return begun && now.Sub(since) >= restartWithin
}

// BeginRestarts is the patch that writes down that Deployments are restarted from now on.
// What is written on them is this time, so that nothing is restarted twice.
func BeginRestarts(claim *api.NodeClaim, now time.Time) map[string]any {
	return map[string]any{"metadata": map[string]any{
		"resourceVersion": claim.ResourceVersion, "annotations": map[string]any{RestartingSinceAnnotationKey: now.UTC().Format(time.RFC3339)},
	}}
}

package decide

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/disruption"
)

// RestartPause is the time until the next pass looks at a restart again.
const RestartPause = 5 * time.Second

// Restart decides how a pod leaves the node that asks to be moved by a restart of its Deployment
// (nil: the pod has none). With restarts false the pod is evicted like any other. A blocked that
// is not empty says why the node stays after all. Otherwise the task restarts the Deployment,
// unless that was done before, and the node waits for it. refused is why the pod's budget allows no
// eviction, or empty.
func Restart(
	node *disruption.Node, pod *corev1.Pod, deployment *appsv1.Deployment, refused string, now time.Time,
) (task Task, restarts bool, blocked string) {
	task.Node, task.Reason = node, reasonOf(node)
	if blocked = Unmovable(deployment, refused); blocked != "" {
		return task, true, blocked
	}
	if deployment == nil || !disruption.Restartable(deployment) {
		return task, false, ""
	}
	if node.RestartTookTooLong(now) {
		return task, true, fmt.Sprintf("deployment %s/%s was restarted to move its pods, and the new ones are not ready",
			pod.Namespace, deployment.Name)
	}
	since, begun := node.RestartingSince()
	if !begun {
		// Written before the restart, so that a pass after one that died restarts nothing twice.
		since = now.Truncate(time.Second)
		task.add(PatchClaim{Patch: disruption.BeginRestarts(node.Claim, since)})
	}
	restartedAt := deployment.Spec.Template.Annotations[disruption.RestartedAtAnnotationKey]
	if restartedAt == since.UTC().Format(time.RFC3339) {
		return task, true, ""
	}
	about := corev1.ObjectReference{
		APIVersion: "apps/v1", Kind: "Deployment", Namespace: pod.Namespace, Name: deployment.Name, UID: deployment.UID,
	}
	task.add(
		RestartDeployment{Deployment: deployment, At: since},
		Log{Message: "restarting deployment to move its pods", Attributes: []any{
			"Deployment", pod.Namespace + "/" + deployment.Name, "Pod", pod.Name, "NodeClaim", node.Claim.Name,
		}},
		normal(about, "RestartedToMove", "Restarted so that new pods are ready before node "+node.Node.Name+" goes"),
	)
	return task, true, ""
}

// Unmovable says why neither an eviction nor a restart moves the pods of a Deployment (nil: they have
// none), or nothing. refused is that of Restart.
func Unmovable(deployment *appsv1.Deployment, refused string) string {
	switch {
	case refused == "" || deployment != nil && disruption.Restartable(deployment):
		return ""
	case deployment == nil:
		return refused + ", and no Deployment can start another pod first: let the budget allow an eviction"
	}
	return fmt.Sprintf("%s, and deployment %s/%s cannot start another pod first: "+
		"give it a rolling update with maxSurge of at least 1, or let the budget allow an eviction",
		refused, deployment.Namespace, deployment.Name)
}

// RestartForbidden says how a namespace gives disrupt the right to restart its Deployments.
func RestartForbidden(pod *corev1.Pod) string {
	return fmt.Sprintf("pod %s/%s has the annotation %s, and its Deployment may not be restarted: "+
		"kubectl create rolebinding whittle-restart --namespace %s --clusterrole whittle:restart --group whittle:disrupt",
		pod.Namespace, pod.Name, disruption.MoveByRestartAnnotationKey, pod.Namespace)
}

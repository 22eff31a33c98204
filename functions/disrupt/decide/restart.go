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
// unless that was done before, and the node waits for it.
func Restart(node *disruption.Node, pod *corev1.Pod, deployment *appsv1.Deployment, now time.Time) (
	task Task, restarts bool, blocked string,
) {
	task.Node, task.Reason = node, reasonOf(node)
	if deployment == nil || !disruption.Restartable(deployment) {
		return task, false, ""
	}
	if node.RestartTookTooLong(now) {
		return task, true, fmt.Sprintf("deployment %s/%s was restarted to move its pod, and the new one is not ready",
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
		Log{Message: "restarting deployment to move its pod", Attributes: []any{
			"Deployment", pod.Namespace + "/" + deployment.Name, "Pod", pod.Name, "NodeClaim", node.Claim.Name,
		}},
		normal(about, "RestartedToMove", "Restarted so that a new pod is ready before node "+node.Node.Name+" goes"),
	)
	return task, true, ""
}

// RestartForbidden says how a namespace gives disrupt the right to restart its Deployments.
func RestartForbidden(pod *corev1.Pod) string {
	return fmt.Sprintf("pod %s/%s has the annotation %s, and its Deployment may not be restarted: "+
		"kubectl create rolebinding whittle-restart --namespace %s --clusterrole whittle:restart --group whittle:disrupt",
		pod.Namespace, pod.Name, disruption.MoveByRestartAnnotationKey, pod.Namespace)
}

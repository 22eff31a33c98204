package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/whittle-dev/whittle/shared/disruption"
)

// restartAgain is how soon a restart is looked at again.
const restartAgain = 5 * time.Second

// restart moves the single pods that ask for it off the node, once its replacements are there,
// by restarting their Deployments. It tells whether the node has to wait for that.
func (r *run) restart(ctx context.Context, node *disruption.Node) (waits bool, err error) {
	for _, pod := range r.seen.ToRestart(node) {
		deployment, err := r.client.DeploymentOf(ctx, pod)
		if apierrors.IsForbidden(err) {
			return true, r.rollBack(ctx, disruption.RollBack{Node: node, Why: forbidden(pod)})
		}
		if err != nil {
			return true, err
		}
		if deployment == nil || !disruption.Restartable(deployment) {
			continue // it is evicted like others
		}
		if node.RestartTookTooLong(r.now()) {
			return true, r.rollBack(ctx, disruption.RollBack{Node: node, Why: fmt.Sprintf("deployment %s/%s was restarted to move its pod, and the new one is not ready", pod.Namespace, deployment.Name)})
		}
		since, begun := node.RestartingSince()
		if !begun {
			// Written first: one who dies in between restarts nothing twice.
			since = r.now().Truncate(time.Second)
			stored, err := r.client.PatchNodeClaim(ctx, node.Claim.Name, disruption.BeginRestarts(node.Claim, since))
			if err != nil {
				return true, err
			}
			node.Claim = stored
		}
		if deployment.Spec.Template.Annotations[disruption.RestartedAtAnnotationKey] != since.UTC().Format(time.RFC3339) {
			err := r.client.AnnotatePodTemplate(ctx, deployment, disruption.RestartedAtAnnotationKey, since)
			if apierrors.IsForbidden(err) {
				return true, r.rollBack(ctx, disruption.RollBack{Node: node, Why: forbidden(pod)})
			}
			if err != nil {
				return true, err
			}
			slog.InfoContext(ctx, "restarting deployment to move its pod", "Deployment", pod.Namespace+"/"+deployment.Name, "Pod", pod.Name, "NodeClaim", node.Claim.Name)
			r.record(ctx, corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: pod.Namespace, Name: deployment.Name, UID: deployment.UID},
				corev1.EventTypeNormal, "RestartedToMove", "Restarted so that a new pod is ready before node "+node.Node.Name+" goes")
		}
		waits = true
	}
	if waits && (r.again.IsZero() || r.again.After(r.now().Add(restartAgain))) {
		r.again = r.now().Add(restartAgain)
	}
	return waits, nil
}

// unmovable says why a pod that asks to be moved by a restart cannot be, or "": nothing is
// launched for a node that then would stay.
func (r *run) unmovable(ctx context.Context, node *disruption.Node) (string, error) {
	for _, pod := range r.seen.ToRestart(node) {
		_, err := r.client.DeploymentOf(ctx, pod)
		if apierrors.IsForbidden(err) {
			return forbidden(pod), nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// forbidden says how the right is given that only namespaces give which want it.
func forbidden(pod *corev1.Pod) string {
	return fmt.Sprintf("pod %s/%s has the annotation %s, and its Deployment may not be restarted: kubectl create rolebinding whittle-restart --namespace %s --clusterrole whittle:restart --group whittle:disrupt",
		pod.Namespace, pod.Name, disruption.MoveByRestartAnnotationKey, pod.Namespace)
}

package disruption

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// IsTainted tells whether the node is marked for its removal.
func IsTainted(node *corev1.Node) bool {
	return scheduling.IsDisruptionTainted(node)
}

// Taint is the patch that marks the node for its removal, so that no pod is scheduled to it any
// more. It is nil if the node is marked. Writing it conflicts if the node has changed since it was
// read.
func Taint(node *corev1.Node) map[string]any {
	if IsTainted(node) {
		return nil
	}
	return taintPatch(node, append(slices.Clone(node.Spec.Taints), api.DisruptedNoScheduleTaint()))
}

// Untaint is the patch that removes the mark, or nil if there is none.
func Untaint(node *corev1.Node) map[string]any {
	if !IsTainted(node) {
		return nil
	}
	return taintPatch(node, slices.DeleteFunc(slices.Clone(node.Spec.Taints), isDisrupted))
}

func isDisrupted(taint corev1.Taint) bool { return taint.Key == api.DisruptedTaintKey }

func taintPatch(node *corev1.Node, taints []corev1.Taint) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"resourceVersion": node.ResourceVersion},
		"spec":     map[string]any{"taints": taints},
	}
}

// IsReady tells whether the kubelet reports the node ready.
func IsReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// AboutNode is the node as the subject of events.
func AboutNode(node *corev1.Node) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}
}

// AboutPod is the pod as the subject of events.
func AboutPod(pod *corev1.Pod) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

// AboutClaim is the claim as the subject of events.
func AboutClaim(claim *api.NodeClaim) corev1.ObjectReference {
	return about(api.NodeClaimKind, &claim.ObjectMeta)
}

// AboutPool is the pool as the subject of events.
func AboutPool(pool *api.NodePool) corev1.ObjectReference {
	return about(api.NodePoolKind, &pool.ObjectMeta)
}

// AboutClass is the class as the subject of events.
func AboutClass(class *api.EC2NodeClass) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: api.AWSAPIVersion, Kind: api.EC2NodeClassKind, Name: class.Name, UID: class.UID,
	}
}

func about(kind string, object *metav1.ObjectMeta) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: api.APIVersion, Kind: kind, Name: object.Name, UID: object.UID}
}

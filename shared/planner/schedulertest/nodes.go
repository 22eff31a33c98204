package schedulertest

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// existingNode is a node that is ready before the pods come.
type existingNode struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	Taints []corev1.Taint    `json:"taints,omitempty"`
	// Allocatable has 110 pods unless it says otherwise.
	Allocatable corev1.ResourceList `json:"allocatable"`
	// AttachLimits are the numbers of volumes that the node attaches, by CSI driver.
	AttachLimits map[string]int32 `json:"attachLimits,omitempty"`
	// Pods run on the node.
	Pods []podGroup `json:"pods,omitempty"`
}

// object returns the Node.
func (n *existingNode) object() *corev1.Node {
	allocatable := n.Allocatable.DeepCopy()
	if _, ok := allocatable[corev1.ResourcePods]; !ok {
		allocatable[corev1.ResourcePods] = resource.MustParse("110")
	}
	labels := maps.Clone(n.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[corev1.LabelHostname] = n.Name
	return readyNode(n.Name, labels, n.Taints, allocatable)
}

// bystander returns a node without resources and without labels. The scheduler treats a cluster
// without any node as an error. It would then retry after a backoff, and not when nodes come.
func bystander() *corev1.Node { return readyNode("bystander", nil, nil, corev1.ResourceList{}) }

// readyNode returns a node with the condition Ready.
func readyNode(
	name string,
	labels map[string]string,
	taints []corev1.Taint,
	allocatable corev1.ResourceList,
) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.NodeSpec{Taints: taints},
		Status: corev1.NodeStatus{
			Capacity: allocatable, Allocatable: allocatable,
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: metav1.Now()},
			},
		},
	}
}

// daemonsOf returns the DaemonSets that run on the node.
func daemonsOf(node *corev1.Node, sets []appsv1.DaemonSet) ([]appsv1.DaemonSet, error) {
	var running []appsv1.DaemonSet
	for i := range sets {
		spec := &sets[i].Spec.Template.Spec
		matches, err := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: *spec}).Match(node)
		if err != nil {
			return nil, fmt.Errorf("daemonset %q: %w", sets[i].Name, err)
		}
		tolerations := slices.Concat(spec.Tolerations, scheduling.DaemonSetTolerations())
		if matches && scheduling.ToleratesAll(node.Spec.Taints, tolerations) {
			running = append(running, sets[i])
		}
	}
	return running, nil
}

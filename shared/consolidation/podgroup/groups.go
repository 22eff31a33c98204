package podgroup

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Groups numbers the pod groups that it has met. Its axes are the resources that the cluster's pods
// request.
type Groups struct {
	axes   *resource.Axes
	groups []group
	byKey  map[string]int
	key    strings.Builder
}

type group struct {
	requests    resource.Vector
	affinity    nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration
	// selects says that the pods ask for node labels.
	selects bool
}

// New has no groups yet, and axes for the requests of all pods of the snapshot.
func New(cluster *plan.Snapshot) *Groups {
	names := map[corev1.ResourceName]bool{}
	add := func(name corev1.ResourceName, _ int64) { names[name] = true }
	for i := range cluster.Pods {
		scheduling.EachRequestedAmount(&cluster.Pods[i], add)
	}
	for i := range cluster.Nodes {
		for j := range cluster.Nodes[i].Pods {
			scheduling.EachRequestedAmount(&cluster.Nodes[i].Pods[j], add)
		}
	}
	return &Groups{axes: resource.NewAxes(slices.Collect(maps.Keys(names))), byKey: map[string]int{}}
}

// Len is how many groups there are. Their numbers begin at zero.
func (g *Groups) Len() int { return len(g.groups) }

// Requests is what a pod of the group requests. The caller must not change it.
func (g *Groups) Requests(number int) resource.Vector { return g.groups[number].requests }

// RequestsOf is what the pod requests. It makes no group.
func (g *Groups) RequestsOf(pod *corev1.Pod) resource.Vector {
	requests := make(resource.Vector, len(g.axes.Names))
	scheduling.EachRequestedAmount(pod, func(name corev1.ResourceName, amount int64) {
		if axis, known := g.axes.Position[name]; known {
			requests[axis] += min(amount, resource.MaxAmount)
		}
	})
	return requests
}

// Capacity is the list as a vector. It leaves out resources that no pod requests.
func (g *Groups) Capacity(list corev1.ResourceList) resource.Vector { return g.axes.Supply(list) }

// Of is the number of the pod's group.
func (g *Groups) Of(pod *corev1.Pod) int {
	requests := g.RequestsOf(pod)
	key := &g.key
	key.Reset()
	for axis, amount := range requests {
		if amount != 0 {
			fmt.Fprintf(key, "%d=%d,", axis, amount)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pod.Spec.NodeSelector)) {
		fmt.Fprintf(key, "%s=%s\n", name, pod.Spec.NodeSelector[name])
	}
	for i := range pod.Spec.Tolerations {
		toleration := &pod.Spec.Tolerations[i]
		fmt.Fprintf(key, "%s %s %s %s\n", toleration.Key, toleration.Operator, toleration.Value, toleration.Effect)
	}
	selects := len(pod.Spec.NodeSelector) > 0
	if required := requiredAffinity(pod); required != nil {
		selects = true
		written, _ := json.Marshal(required) // A decoded value can be encoded.
		key.Write(written)
	}
	written := key.String()
	number, known := g.byKey[written]
	if !known {
		number = len(g.groups)
		g.byKey[written] = number
		g.groups = append(g.groups, group{
			requests: requests, affinity: nodeaffinity.GetRequiredNodeAffinity(pod), tolerations: pod.Spec.Tolerations,
			selects: selects,
		})
	}
	return number
}

func requiredAffinity(pod *corev1.Pod) *corev1.NodeSelector {
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		return affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// MayRun tells whether the node's taints and labels admit pods of the group. The labels of a node
// that has not joined are not known: pods that ask for labels are not admitted there.
func (g *Groups) MayRun(number int, node *plan.Node) bool {
	group := &g.groups[number]
	if node.Node == nil {
		return scheduling.ToleratesAll(node.NodeClaim.Spec.Taints, group.tolerations) && !group.selects
	}
	if node.Node.Spec.Unschedulable || !scheduling.ToleratesAll(node.Node.Spec.Taints, group.tolerations) {
		return false
	}
	if !group.selects {
		return true
	}
	match, err := group.affinity.Match(node.Node)
	return err == nil && match
}

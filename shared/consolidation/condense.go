package consolidation

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// The planner is asked many times about the same cluster, of which little has changed. Most of what it reads are running pods that no other pod asks about: what they
// take is taken off the node instead, and they are left out.

// show is the node as the planner gets it.
func (f *fleet) show(n *node) *plan.Node {
	if n.shown != nil {
		return n.shown
	}
	shown := &plan.Node{NodeClaim: n.source.NodeClaim}
	var rest []*corev1.Pod // whose requests alone count
	for _, pod := range n.pods {
		if pod.bound || pod.counted || !alone(&pod.object.Spec) {
			shown.Pods = append(shown.Pods, onNode(pod.object, n.name))
		} else {
			rest = append(rest, pod.object)
		}
	}
	for _, object := range n.fixed {
		bound, counted, _ := f.terms.read(object)
		if bound || counted || !alone(&object.Spec) || scheduling.IsOwnedByDaemonSet(object) {
			shown.Pods = append(shown.Pods, onNode(object, n.name))
		} else {
			rest = append(rest, object)
		}
	}
	if n.source.Node == nil {
		// A node that has not joined has few pods: those that are to come to it.
		for _, object := range rest {
			shown.Pods = append(shown.Pods, onNode(object, n.name))
		}
		n.shown = shown
		return shown
	}
	object := *n.source.Node
	object.Status.Allocatable = object.Status.Allocatable.DeepCopy()
	for _, pod := range rest {
		scheduling.EachRequest(pod, func(name corev1.ResourceName, quantity *resource.Quantity) {
			if left, ok := object.Status.Allocatable[name]; ok {
				left.Sub(*quantity)
				object.Status.Allocatable[name] = left
			}
		})
	}
	if n.launched != nil {
		// Its claim was planned for its pods, whatever instance it becomes: there is room for them, and not for sure for more.
		object = *full(&object)
	}
	shown.Node = &object
	shown.Prepare()
	n.shown = shown
	return shown
}

// full is the node without room for any pod.
func full(node *corev1.Node) *corev1.Node {
	closed := *node
	closed.Status.Allocatable = maps.Clone(node.Status.Allocatable)
	closed.Status.Allocatable[corev1.ResourcePods] = resource.Quantity{}
	return &closed
}

func onNode(pod *corev1.Pod, name string) corev1.Pod {
	there := *pod
	there.Spec.NodeName = name
	return there
}

// gone is a node that is on its way out: it has no pods any more that count, and is paid until it is gone.
func (f *fleet) gone(n *node) plan.Node {
	left := plan.Node{}
	if n.source.Node != nil {
		object := *n.source.Node
		object.DeletionTimestamp = &metav1.Time{Time: f.s.Now}
		left.Node = &object
	}
	if n.source.NodeClaim != nil {
		claim := *n.source.NodeClaim
		claim.DeletionTimestamp = &metav1.Time{Time: f.s.Now}
		left.NodeClaim = &claim
	}
	return left
}

// ask has the planner place the pods of nodes that leave on the others, which are filled in their order, and on new nodes if it may.
func (f *fleet) ask(leaving, others []*node, launch bool) *plan.Plan {
	s := *f.cluster
	s.Rough = true
	price := 0.0
	for _, n := range leaving {
		price += n.price
	}
	if launch {
		s.InstanceTypes = f.typesBelow(price)
	} else {
		s.NodePools = nil
	}
	for _, n := range leaving {
		for _, pod := range n.pods {
			s.Pods = append(s.Pods, scheduling.Successor(pod.object))
		}
	}
	s.Nodes = make([]plan.Node, 0, len(others))
	for rank, n := range others {
		shown := *f.show(n)
		shown.Rank = rank
		if (launch && f.spared[n] || f.closed[n]) && shown.Node != nil {
			shown.Node = full(shown.Node)
		}
		s.Nodes = append(s.Nodes, shown)
	}
	if launch && f.limited {
		// All other nodes count against limits too: what is taken away is paid until its pods have gone.
		there := map[*node]bool{}
		for _, n := range others {
			there[n] = true
		}
		for _, n := range f.nodes {
			if !there[n] && !(n.removed && n.launched != nil) {
				s.Nodes = append(s.Nodes, f.gone(n))
			}
		}
	}
	return plan.Solve(&s)
}

// priceStep is how far apart the limits are that lists of instance types are kept for.
const priceStep = 1.3

// typesBelow are the instance types that cost no more than so many US dollars an hour, or little more: dearer ones are no gain.
func (f *fleet) typesBelow(price float64) map[string][]catalog.InstanceType {
	number := int(math.Ceil(math.Log(max(price, 1e-3)) / math.Log(priceStep)))
	if lists, known := f.cheap[number]; known {
		return lists
	}
	limit := math.Pow(priceStep, float64(number))
	lists := make(map[string][]catalog.InstanceType, len(f.cluster.InstanceTypes))
	kept := map[*catalog.InstanceType][]catalog.InstanceType{}
	for pool, list := range f.cluster.InstanceTypes {
		if len(list) == 0 {
			continue
		}
		short, known := kept[&list[0]]
		if !known {
			for i := range list {
				if slices.ContainsFunc(list[i].Offerings, func(o catalog.Offering) bool { return o.Available && o.Price <= limit }) {
					short = append(short, list[i])
				}
			}
			kept[&list[0]] = short
		}
		lists[pool] = short
	}
	f.cheap[number] = lists
	return lists
}

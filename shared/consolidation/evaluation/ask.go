package evaluation

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// The search asks the planner many times about nearly the same cluster. Most running pods matter by
// their requests only, because no other pod counts them. The evaluator leaves such pods out and
// subtracts their requests from the node.

// shownNode is a node as the planner gets it, with the version of the node that it was made from.
type shownNode struct {
	version int
	node    *plan.Node
}

// show is the node as the planner gets it. The caller must not change it.
func (e *Evaluator) show(n *state.Node) *plan.Node {
	if known, ok := e.shown[n]; ok && known.version == n.Version() {
		return known.node
	}
	shown := e.condensed(n)
	e.shown[n] = shownNode{n.Version(), shown}
	return shown
}

// condensed is the node with its resources reduced by the pods that need not be shown.
func (e *Evaluator) condensed(n *state.Node) *plan.Node {
	condensed := &plan.Node{NodeClaim: n.Source.NodeClaim, PricePerHour: e.fleet.LimitPrice(n)}
	var omitted []*corev1.Pod
	for _, pod := range n.Pods {
		object := pod.On(n)
		if pod.Related || !takesRequestsOnly(&object.Spec) {
			condensed.Pods = append(condensed.Pods, onNode(object, n.Name))
		} else {
			omitted = append(omitted, object)
		}
	}
	for _, object := range n.Fixed {
		if e.fleet.IsRelated(object) || !takesRequestsOnly(&object.Spec) || scheduling.IsOwnedByDaemonSet(object) {
			condensed.Pods = append(condensed.Pods, onNode(object, n.Name))
		} else {
			omitted = append(omitted, object)
		}
	}
	if n.Source.Node == nil {
		// A node that has not joined has few pods: those that are on their way to it.
		for _, object := range omitted {
			condensed.Pods = append(condensed.Pods, onNode(object, n.Name))
		}
		return condensed
	}
	object := *n.Source.Node
	object.Status.Allocatable = n.Source.Allocatable().DeepCopy()
	for _, pod := range omitted {
		scheduling.EachRequest(pod, func(name corev1.ResourceName, quantity *resource.Quantity) {
			if left, ok := object.Status.Allocatable[name]; ok {
				left.Sub(*quantity)
				object.Status.Allocatable[name] = left
			}
		})
	}
	if n.Launched != nil {
		// The claim was planned for its pods, whichever instance it becomes. Room for more is not
		// certain.
		object = *full(&object)
	}
	condensed.Node = &object
	condensed.Prepare()
	return condensed
}

// takesRequestsOnly tells whether the pod takes nothing of its node but its requests: neither
// volumes that count against attachment limits nor host ports.
func takesRequestsOnly(spec *corev1.PodSpec) bool {
	for i := range spec.Volumes {
		if spec.Volumes[i].PersistentVolumeClaim != nil || spec.Volumes[i].Ephemeral != nil || spec.Volumes[i].CSI != nil {
			return false
		}
	}
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			for _, port := range containers[i].Ports {
				if port.HostPort > 0 || spec.HostNetwork {
					return false
				}
			}
		}
	}
	return true
}

// full is the node without room for any pod.
func full(node *corev1.Node) *corev1.Node {
	closed := *node
	closed.Status.Allocatable = maps.Clone(node.Status.Allocatable)
	closed.Status.Allocatable[corev1.ResourcePods] = resource.Quantity{}
	return &closed
}

func onNode(pod *corev1.Pod, name string) corev1.Pod {
	bound := *pod
	bound.Spec.NodeName = name
	return bound
}

// ask lets the planner place the pods of the leaving nodes on the others, filled in order.
// The planner may launch new nodes if the options allow it.
func (e *Evaluator) ask(leaving, others []*state.Node, o Options) *plan.Plan {
	s := e.fleet.Planner()
	s.SkipImprovement = true
	price := 0.0
	for _, n := range leaving {
		price += n.Price
	}
	switch {
	case e.WantsNodes(leaving): // every node counts that could be had
	case o.Launch:
		s.InstanceTypes = e.fleet.TypesBelow(price)
	default:
		s.NodePools = nil
	}
	for _, n := range leaving {
		for _, pod := range n.Pods {
			s.Pods = append(s.Pods, pod.Successor())
		}
	}
	s.Nodes = make([]plan.Node, 0, len(others))
	for rank, n := range others {
		shown := *e.show(n)
		shown.Rank = rank
		if (o.Launch && o.Spared[n] || o.Closed[n]) && shown.Node != nil {
			shown.Node = full(shown.Node)
		}
		s.Nodes = append(s.Nodes, shown)
	}
	if s.NodePools != nil {
		s.Nodes = append(s.Nodes, e.counting()...)
	}
	return planning.Solve(&s)
}

// counting are the nodes that leave and count against limits still, without their pods.
func (e *Evaluator) counting() []plan.Node {
	var counting []plan.Node
	for _, n := range e.fleet.Nodes {
		claim := n.Source.NodeClaim
		if n.Leaving && claim != nil && claim.Annotations[scheduling.CountsAnnotationKey] != "" {
			counting = append(counting, plan.Node{
				Node: n.Source.Node, NodeClaim: claim, PricePerHour: e.fleet.LimitPrice(n),
			})
		}
	}
	return counting
}

package state

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/protection"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Node is a node of the snapshot, or one that a step launches.
type Node struct {
	Source *plan.Node
	// Name is the Node's name, or the claim's before the node has joined.
	Name string
	// Pool is nil if the NodePool does not exist.
	Pool *Pool
	// Price is in US dollars per hour. It is zero if it is not known. Extras is the part of it that
	// the node costs beside its instance, and Risk the part for interruptions, which is on no bill.
	Price, Extras, Risk float64
	// Fixed are the pods that do not come back elsewhere: those of DaemonSets, static and ending
	// ones, and the pending pods that are nominated to the node.
	Fixed []*corev1.Pod
	// Nominated is how many pending pods are nominated to the node.
	Nominated int
	// Leaving says that the node's end was ordered or prepared before any step.
	Leaving bool
	// Vacant says that the node is empty and goes by itself once it has been so for long enough. Package
	// eligibility sets it. No pod moves there.
	Vacant bool
	// Launched is the claim of a node that a step launches. It is nil for all other nodes.
	Launched *plan.PlannedNodeClaim

	// Candidate says that the node may be deleted. Ineligible is the reason if it may not. Package
	// eligibility sets both.
	Candidate  bool
	Ineligible Refusal

	// Pods are the pods that are on the node now and come back elsewhere if it is deleted.
	Pods []*Pod
	// Removed says that a step deletes the node.
	Removed bool

	group *group
	// original are the Pods before any step.
	original []*Pod
	// fixedSelectors are the relations of the Fixed pods.
	fixedSelectors []int
	domains        string
	cache          nodeCache
}

// PriceText is the node's price for people, such as "$0.0412/h". It names a risk in it.
func (n *Node) PriceText() string {
	text := fmt.Sprintf("$%.4f/h", n.Price)
	if n.Risk > 0 {
		text += fmt.Sprintf(" (with $%.4f/h for the risk of interruptions)", n.Risk)
	}
	return text
}

// nodeCache is what is computed from a node's pods. It is valid until they change.
type nodeCache struct {
	free      resource.Vector
	dualPrice float64
	priced    bool
	version   int
}

// Pod is a pod that comes back elsewhere if its node is deleted.
type Pod struct {
	Object *corev1.Pod
	Ref    plan.PodRef
	// From is the node that the pod runs on before any step.
	From *Node
	// EvictionCost is protection.EvictionCost, but not less than zero.
	EvictionCost float64
	// DualPrice is in US dollars per hour. ReadDualPrices sets it.
	DualPrice float64
	// Job is the kind and name of the Job that the pod works for; empty for other pods. Its work begins again
	// if the pod is evicted.
	Job string
	// Related says that spread or affinity relates the pod to others.
	Related bool
	// Group is the number of the group of the pod's successor. Requests are those of each pod of the group.
	Group    int
	Requests resource.Vector

	selectors []int
	// gang is nil for a pod of no gang.
	gang *gang
	// successor is set where it requests more than the pod, and here are the pod's requests.
	successor *corev1.Pod
	here      resource.Vector
}

// Successor is the pod that comes back elsewhere.
func (p *Pod) Successor() corev1.Pod {
	if p.successor != nil {
		return *p.successor
	}
	return scheduling.Successor(p.Object)
}

// On is the pod as it runs on the node: itself where it is now, and its successor elsewhere.
func (p *Pod) On(n *Node) *corev1.Pod {
	if p.successor != nil && p.From != n {
		return p.successor
	}
	return p.Object
}

// requestsOn are the requests of On.
func (p *Pod) requestsOn(n *Node) resource.Vector {
	if p.successor != nil && p.From == n {
		return p.here
	}
	return p.Requests
}

func (f *Fleet) newPod(object *corev1.Pod, from *Node) *Pod {
	cost := protection.EvictionCost(object, f.source.ManagedDeletionCosts)
	p := &Pod{
		Object: object, From: from, EvictionCost: max(0, cost),
		Ref: plan.PodRef{Namespace: object.Namespace, Name: object.Name, UID: string(object.UID)},
	}
	// Other controllers of jobs, such as PyTorchJob and Volcano's Job, have kinds that end alike.
	if owner := metav1.GetControllerOf(object); owner != nil && strings.HasSuffix(owner.Kind, "Job") {
		p.Job = owner.Kind + " " + owner.Name
	}
	p.Related, p.selectors = f.relations.Of(object)
	if scheduling.ComesBackLarger(object) {
		p.successor, p.here = new(scheduling.Successor(object)), f.Groups.RequestsOf(object)
		object = p.successor
	}
	p.Group = f.Groups.Of(object)
	p.Requests = f.Groups.Requests(p.Group)
	return p
}

// ComparePods orders pods by namespace and name.
func ComparePods(a, b *Pod) int {
	return cmp.Or(strings.Compare(a.Ref.Namespace, b.Ref.Namespace), strings.Compare(a.Ref.Name, b.Ref.Name))
}

// Label is the node's label, or its claim's if the node does not have it.
func (n *Node) Label(key string) string { return Label(n.Source, key) }

// Label is the node's label, or its claim's if the node does not have it.
func Label(node *plan.Node, key string) string {
	if node.Node != nil {
		if value, ok := node.Node.Labels[key]; ok {
			return value
		}
	}
	if node.NodeClaim != nil {
		return node.NodeClaim.Labels[key]
	}
	return ""
}

// IsInitialized tells whether the node has joined and was ready for pods.
func IsInitialized(node *plan.Node) bool {
	return node.Node != nil && node.Node.Labels[api.NodeInitializedLabelKey] == "true"
}

// IsLeaving tells whether the node's end was ordered, or is being prepared.
func IsLeaving(node *plan.Node) bool {
	if claim := node.NodeClaim; claim != nil {
		_, replaced := claim.Annotations[disruption.ReplacedByAnnotationKey]
		if replaced || api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeDisruptionReason) {
			return true
		}
	}
	return scheduling.IsClosedToPods(node.NodeClaim, node.Node)
}

// IsEmpty tells whether no pod ran on the node before any step, except those that end with it.
func (n *Node) IsEmpty() bool {
	for i := range n.Source.Pods {
		if disruption.Counts(n.Source.Pods[i]) {
			return false
		}
	}
	return n.Nominated == 0
}

// Original are the node's Pods before any step.
func (n *Node) Original() []*Pod { return n.original }

// Disturbance is what evicting the node's pods costs: see Disturbances.
func (n *Node) Disturbance() float64 { return Disturbances([]*Node{n})[0] }

// DualPrice is the sum of the dual prices of the node's pods, in US dollars per hour.
func (n *Node) DualPrice() float64 {
	if !n.cache.priced {
		n.cache.dualPrice, n.cache.priced = 0, true
		for _, pod := range n.Pods {
			n.cache.dualPrice += pod.DualPrice
		}
	}
	return n.cache.dualPrice
}

// PriceUsed is the part of the node's price that the dual prices of its pods make up. It is 1 for a
// node whose price is not known.
func (n *Node) PriceUsed() float64 {
	if n.Price <= 0 {
		return 1
	}
	return n.DualPrice() / n.Price
}

// MinimumSavings is what the deletion of the node alone must save, in US dollars per hour.
func (n *Node) MinimumSavings() float64 { return MinimumSavings([]*Node{n}) }

// Version changes whenever the node's pods may have changed.
func (n *Node) Version() int { return n.cache.version }

func (n *Node) changed() { n.cache = nodeCache{version: n.cache.version + 1} }

// FreeOf is what the node has left for pods. The caller must not change it.
func (f *Fleet) FreeOf(n *Node) resource.Vector {
	if n.cache.free != nil {
		return n.cache.free
	}
	free := f.Groups.Capacity(n.allocatable())
	for _, pod := range n.Pods {
		free.Add(pod.requestsOn(n), -1)
	}
	for _, object := range n.Fixed {
		free.Add(f.Groups.RequestsOf(object), -1)
	}
	n.cache.free = free
	return free
}

// allocatable is the Node's list. Before the node has joined, it is the claim's list.
func (n *Node) allocatable() corev1.ResourceList {
	if n.Source.Node != nil {
		return n.Source.Allocatable()
	}
	return n.Source.NodeClaim.Status.Allocatable
}

// HasRelated tells whether spread or affinity relates a pod of the nodes to others.
func HasRelated(nodes []*Node) bool {
	for _, n := range nodes {
		for _, pod := range n.Pods {
			if pod.Related {
				return true
			}
		}
	}
	return false
}

// Package view computes what a person wants to see of a cluster: its node pools,
// its nodes with what they cost and carry, and the pods that wait. It is pure:
// objects and the time go in, a view comes out, which serialises to JSON and
// writes itself as tables.
package view

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/status"
)

// Objects are a cluster's objects as its API server gives them.
type Objects struct {
	NodePools  []api.NodePool
	NodeClaims []api.NodeClaim
	Nodes      []corev1.Node
	Pods       []corev1.Pod
	Events     []corev1.Event    // about pods: FailedScheduling and Nominated
	Catalog    *catalog.Snapshot // nil when there is none yet
	Plan       *status.Plan      // the last that led to nodes; nil when there is none yet
	Karpenter  *cluster.Leader   // nil while no Karpenter acts in the cluster
}

// View is what is shown of a cluster at one time.
type View struct {
	Time      time.Time  `json:"time"`
	NodePools []NodePool `json:"nodePools"`
	Nodes     []Node     `json:"nodes"`
	Waiting   []Pod      `json:"waitingPods"`
	// Instances is how many EC2 instances the claims have.
	Instances int `json:"instances"`
	// PricePerHour is US dollars an hour of these instances, in sum.
	PricePerHour float64 `json:"pricePerHour"`
	// Unpriced is how many of them have no known price and are not in the sum.
	Unpriced int `json:"unpriced,omitempty"`
	// Savings are what they cost less than the same instance types on demand.
	Savings catalog.Savings `json:"savings"`
	// Plan is the last plan that led to nodes; nil when there is none yet.
	Plan *status.Plan `json:"plan,omitempty"`
	// Catalog is nil when there is none yet.
	Catalog *Catalog `json:"catalog,omitempty"`
	// StandsBack says for whom nothing is done; empty while Whittle acts.
	StandsBack string `json:"standsBack,omitempty"`
}

// NodePool is a node pool and what its nodes add up to.
type NodePool struct {
	Name      string            `json:"name"`
	NodeClass string            `json:"nodeClass"`
	Nodes     int               `json:"nodes"`
	CPU       resource.Quantity `json:"cpu"`
	Memory    resource.Quantity `json:"memory"`
	Limits    api.Limits        `json:"limits,omitempty"`
	// PricePerHour is US dollars an hour of its instances whose price is known.
	PricePerHour float64  `json:"pricePerHour"`
	Ready        bool     `json:"ready"`
	Reasons      []string `json:"reasons,omitempty"` // why it is not ready, and what else is amiss
}

// State is how far a node is in its life.
type State string

const (
	StateLaunching   State = "launching"   // a claim without an instance
	StateLaunched    State = "launched"    // the instance boots
	StateRegistered  State = "registered"  // the node has joined and is not ready for pods yet
	StateReady       State = "ready"       // pods run here
	StateNotReady    State = "not ready"   // it was ready, and its kubelet says otherwise or nothing
	StateDraining    State = "draining"    // it is being emptied
	StateTerminating State = "terminating" // it is empty, or was never launched, and its instance ends
)

// Node is a node, a claim whose node is yet to come, or both.
type Node struct {
	NodeClaim    string    `json:"nodeClaim,omitempty"` // empty for a node that Whittle did not launch
	NodePool     string    `json:"nodePool,omitempty"`
	Name         string    `json:"node,omitempty"` // empty until the node has joined
	ProviderID   string    `json:"providerID,omitempty"`
	InstanceType string    `json:"instanceType,omitempty"`
	CapacityType string    `json:"capacityType,omitempty"`
	Zone         string    `json:"zone,omitempty"`
	Created      time.Time `json:"created"`
	State        State     `json:"state"`
	Reason       string    `json:"reason,omitempty"` // why it is not further
	// PricePerHour is US dollars an hour, OnDemandPerHour what the same type costs on
	// demand; zero where it is not known.
	PricePerHour    float64   `json:"pricePerHour,omitempty"`
	OnDemandPerHour float64   `json:"onDemandPerHour,omitempty"`
	Pods            int       `json:"pods"`
	Requested       Resources `json:"requested"`
	Allocatable     Resources `json:"allocatable"`
}

// Resources are the two that every node has.
type Resources struct {
	CPU    resource.Quantity `json:"cpu"`
	Memory resource.Quantity `json:"memory"`
}

// Pod is a pod that no node has been found for.
type Pod struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Created   time.Time `json:"created"`
	Source    string    `json:"source,omitempty"`  // who says the message
	Message   string    `json:"message,omitempty"` // why it waits, or for what
}

// Catalog is the age and size of what is known of EC2's offer.
type Catalog struct {
	Time          time.Time `json:"time"`
	SpotPriceTime time.Time `json:"spotPriceTime,omitzero"`
	InstanceTypes int       `json:"instanceTypes"`
}

// Of computes the view of the objects at a time.
func Of(objects *Objects, now time.Time) *View {
	view := &View{
		Time: now, NodePools: nodePools(objects), Nodes: nodes(objects), Waiting: waiting(objects, now), Plan: objects.Plan,
	}
	if objects.Karpenter != nil {
		view.StandsBack = objects.Karpenter.String()
	}
	if c := objects.Catalog; c != nil {
		view.Catalog = &Catalog{Time: c.Time, SpotPriceTime: c.SpotPriceTime, InstanceTypes: len(c.InstanceTypes)}
	}
	view.sumUp()
	return view
}

// Of is the view of one node pool: its nodes and what they cost. The pods that wait and
// the last plan are the cluster's all the same.
func (v *View) Of(nodePool string) *View {
	one := *v
	one.NodePools = slices.DeleteFunc(slices.Clone(v.NodePools), func(pool NodePool) bool { return pool.Name != nodePool })
	one.Nodes = slices.DeleteFunc(slices.Clone(v.Nodes), func(node Node) bool { return node.NodePool != nodePool })
	one.sumUp()
	return &one
}

// sumUp counts the instances and what they cost.
func (v *View) sumUp() {
	v.Instances, v.PricePerHour, v.Unpriced = 0, 0, 0
	onDemand, compared := 0.0, 0.0
	byPool := map[string]float64{}
	for _, node := range v.Nodes {
		// A claim without an instance costs nothing, and others' nodes are not ours to sum up.
		if node.NodeClaim == "" || node.ProviderID == "" {
			continue
		}
		v.Instances++
		v.PricePerHour += node.PricePerHour
		byPool[node.NodePool] += node.PricePerHour
		if node.PricePerHour == 0 {
			v.Unpriced++
		} else if node.OnDemandPerHour > 0 {
			onDemand += node.OnDemandPerHour
			compared += node.PricePerHour
		}
	}
	v.Savings = catalog.SavingsAgainst(onDemand, compared)
	for i := range v.NodePools {
		v.NodePools[i].PricePerHour = byPool[v.NodePools[i].Name]
	}
}

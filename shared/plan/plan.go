package plan

import "github.com/whittle-dev/whittle/shared/api"

// Plan says where each waiting pod goes. Its lists are sorted, so that equal plans are equal values.
type Plan struct {
	// NodeClaims are the nodes to launch.
	NodeClaims []PlannedNodeClaim `json:"nodeClaims,omitempty"`
	// Nominations are the pods that a node takes which exists or is on its way.
	Nominations []Nomination `json:"nominations,omitempty"`
	// Unplaced are the pods without a place, with the reasons.
	Unplaced []Unplaced `json:"unplaced,omitempty"`
	// PricePerHour is the sum of the new nodes' prices in US dollars, each at its cheapest offering.
	PricePerHour float64 `json:"pricePerHour"`
	// LowerBoundPerHour is what no new nodes of these node pools for the same pods can cost less than, in US dollars.
	LowerBoundPerHour float64 `json:"lowerBoundPerHour"`
}

// PlannedNodeClaim is one node to launch.
type PlannedNodeClaim struct {
	// NodeClaim is the object to create. It has a GenerateName and no name. Claims of a plan share lists and maps, but for the annotations: who changes one copies it
	// first.
	NodeClaim api.NodeClaim `json:"nodeClaim"`
	// Pods are those that the node is for.
	Pods []PodRef `json:"pods"`
	// InstanceTypes would each hold the pods; cheapest first, 60 at most.
	InstanceTypes []string `json:"instanceTypes"`
	// Offerings are the ways to buy these types, all of one capacity type: price ascending, then type and zone.
	Offerings []Choice `json:"offerings"`
	// PricePerHour is that of the first offering.
	PricePerHour float64 `json:"pricePerHour"`
}

// Choice is an offering of an instance type.
type Choice struct {
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	// ReservationID is the capacity reservation that the instance is taken from, if it is.
	ReservationID string `json:"reservationID,omitempty"`
	// Price is US dollars an hour.
	Price float64 `json:"price"`
}

// PodRef names a pod.
type PodRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
}

// String is namespace/name.
func (p PodRef) String() string { return p.Namespace + "/" + p.Name }

// Nomination is a pod's place on a node that exists or is in flight. NodeName is empty as long as the node has not joined, NodeClaimName for a node that
// no claim stands for.
type Nomination struct {
	Pod           PodRef `json:"pod"`
	NodeName      string `json:"nodeName,omitempty"`
	NodeClaimName string `json:"nodeClaimName,omitempty"`
}

// Unplaced is a pod that stays without a place.
type Unplaced struct {
	Pod     PodRef   `json:"pod"`
	Reasons []Reason `json:"reasons"`
}

// Reason is what stands in a pod's way, and what would mend it.
type Reason struct {
	// NodePool is the pool that the reason is about; empty if it is about none in particular.
	NodePool string `json:"nodePool,omitempty"`
	Message  string `json:"message"`
}

// String is the message, after the pool's name where there is one.
func (r Reason) String() string {
	if r.NodePool == "" {
		return r.Message
	}
	return `nodepool "` + r.NodePool + `": ` + r.Message
}

package plan

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// Plan says where each waiting pod goes. Its lists are sorted, so that equal plans are equal
// values.
type Plan struct {
	// NodeClaims are the nodes to launch.
	NodeClaims []PlannedNodeClaim `json:"nodeClaims,omitempty"`
	// Nominations are the pods that an existing node or a node in flight takes.
	Nominations []Nomination `json:"nominations,omitempty"`
	// Unplaced are the pods without a place, with the reasons.
	Unplaced []Unplaced `json:"unplaced,omitempty"`
	// PricePerHour is the sum of the new nodes' prices in US dollars, each at its cheapest offering.
	PricePerHour float64 `json:"pricePerHour"`
	// ExtrasPerHour is the part of PricePerHour that these nodes cost beside their instances.
	ExtrasPerHour float64 `json:"extrasPerHour,omitempty"`
	// RiskPerHour is the part of PricePerHour for interruptions, which is on no bill.
	RiskPerHour float64 `json:"riskPerHour,omitempty"`
	// LowerBoundPerHour is the proven least price of new nodes for the same pods in these NodePools,
	// in US dollars, risks included.
	LowerBoundPerHour float64 `json:"lowerBoundPerHour"`
	// Panic is what the planner panicked with on some pods, for the log. The plan is for the others.
	Panic string `json:"panic,omitempty"`
	// Unread are the details of the snapshot that pods needed and nobody had read.
	Unread Details `json:"unread,omitzero"`
}

// Fault is what the plan says about a defect of Whittle's own, for the log, or nothing: a panic of the
// planner, or details that nobody had read for it.
func (p *Plan) Fault() string {
	if p.Panic != "" || p.Unread == (Details{}) {
		return p.Panic
	}
	return "unread: " + p.Unread.String()
}

// PlannedNodeClaim is one node to launch.
type PlannedNodeClaim struct {
	// NodeClaim is the object to create. It has a GenerateName and no name. The claims of a plan
	// share lists and maps, except for the annotations: copy one before you change it.
	NodeClaim api.NodeClaim `json:"nodeClaim"`
	// Pods are the pods that the node is planned for.
	Pods []PodRef `json:"pods"`
	// InstanceTypes are types that each hold the pods, cheapest first, 60 at most.
	InstanceTypes []string `json:"instanceTypes"`
	// Offerings are the ways to buy these types, all of one capacity type, by price, type and zone.
	Offerings []Choice `json:"offerings"`
	// PricePerHour is the price of the first offering in US dollars.
	PricePerHour float64 `json:"pricePerHour"`
	// ExtrasPerHour is the part of PricePerHour that the node costs beside its instance.
	ExtrasPerHour float64 `json:"extrasPerHour,omitempty"`
	// RiskPerHour is the part of PricePerHour for interruptions, which is on no bill.
	RiskPerHour float64 `json:"riskPerHour,omitempty"`
}

// BilledPerHour is the part of PricePerHour that is on a bill.
func (p *PlannedNodeClaim) BilledPerHour() float64 { return p.PricePerHour - p.RiskPerHour }

// BilledPerHour is the part of PricePerHour that is on a bill.
func (p *Plan) BilledPerHour() float64 { return p.PricePerHour - p.RiskPerHour }

// TakePrices makes the prices of the claim those of its first offering.
func (p *PlannedNodeClaim) TakePrices() {
	first := &p.Offerings[0]
	p.PricePerHour, p.ExtrasPerHour, p.RiskPerHour = first.Price, first.Extras, first.Risk
}

// AddPrices adds the prices of the claim to those of the plan, or with -1 takes them away.
func (p *Plan) AddPrices(claim *PlannedNodeClaim, times float64) {
	p.PricePerHour += float64(times * claim.PricePerHour)
	p.ExtrasPerHour += float64(times * claim.ExtrasPerHour)
	p.RiskPerHour += float64(times * claim.RiskPerHour)
}

// Choice is one way to buy an instance type.
type Choice struct {
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	// ReservationID is the capacity reservation that the instance comes from; empty for none.
	ReservationID string `json:"reservationID,omitempty"`
	// Commitment is the Reserved Instance or Savings Plan that pays for the instance; empty for none.
	Commitment string `json:"commitment,omitempty"`
	// Price is in US dollars an hour.
	Price float64 `json:"price"`
	// Extras is the part of Price that the node costs beside its instance.
	Extras float64 `json:"extras,omitempty"`
	// Risk is the part of Price for interruptions, which is on no bill.
	Risk float64 `json:"risk,omitempty"`
}

// PodRef names a pod.
type PodRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
}

// RefOf is the reference to the pod.
func RefOf(pod *corev1.Pod) PodRef {
	return PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
}

// String is namespace/name.
func (r PodRef) String() string { return r.Namespace + "/" + r.Name }

// CompareRefs orders references by namespace, name and UID.
func CompareRefs(a, b PodRef) int {
	// A plan compares thousands of them, mostly of one namespace with different names.
	if a.Namespace != b.Namespace {
		return strings.Compare(a.Namespace, b.Namespace)
	}
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return strings.Compare(a.UID, b.UID)
}

// Nomination is a pod's place on an existing node or a node in flight.
type Nomination struct {
	Pod PodRef `json:"pod"`
	// NodeName is empty until the node has joined.
	NodeName string `json:"nodeName,omitempty"`
	// NodeClaimName is empty for a node that no NodeClaim stands for.
	NodeClaimName string `json:"nodeClaimName,omitempty"`
}

// Unplaced is a pod without a place.
type Unplaced struct {
	Pod     PodRef   `json:"pod"`
	Reasons []Reason `json:"reasons"`
}

// Reason is an obstacle to placing a pod, with its remedy.
type Reason struct {
	// NodePool is the pool that the reason concerns; empty if it concerns no pool in particular.
	NodePool string `json:"nodePool,omitempty"`
	Message  string `json:"message"`
}

// String is the message, with the pool's name before it where there is one.
func (r Reason) String() string {
	if r.NodePool == "" {
		return r.Message
	}
	return `nodepool "` + r.NodePool + `": ` + r.Message
}

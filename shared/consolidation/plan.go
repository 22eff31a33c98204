package consolidation

import (
	"fmt"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Plan is the moves to make, and why the other nodes stay.
type Plan struct {
	// Moves are within the budgets now, the best first: see Move.SavingsPerDisturbance.
	Moves []Move `json:"moves,omitempty"`
	// Waiting are moves that the budgets do not allow now, or that other moves have to precede.
	Waiting []Move `json:"waiting,omitempty"`
	// Stays are the other nodes that a NodeClaim stands for, by name.
	Stays []Stay `json:"stays,omitempty"`
	// Problems are settings of NodePools that cannot be read. The nodes of such a pool stay.
	Problems []Problem `json:"problems,omitempty"`
	// PricePerHour is the price, in US dollars per hour, of all nodes with a NodeClaim and a known
	// price. AfterPerHour is the same once Moves are carried out, with each new node at its
	// cheapest offering. ExtrasPerHour is the part of PricePerHour that the nodes cost beside their
	// instances.
	PricePerHour  float64 `json:"pricePerHour"`
	ExtrasPerHour float64 `json:"extrasPerHour,omitempty"`
	AfterPerHour  float64 `json:"afterPerHour"`
	// RiskPerHour and RiskAfterPerHour are the parts of PricePerHour and AfterPerHour for
	// interruptions, which are on no bill.
	RiskPerHour      float64 `json:"riskPerHour,omitempty"`
	RiskAfterPerHour float64 `json:"riskAfterPerHour,omitempty"`
}

// BilledPerHour is the part of PricePerHour that is on a bill.
func (p *Plan) BilledPerHour() float64 { return p.PricePerHour - p.RiskPerHour }

// BilledAfterPerHour is the part of AfterPerHour that is on a bill.
func (p *Plan) BilledAfterPerHour() float64 { return p.AfterPerHour - p.RiskAfterPerHour }

// Move deletes nodes, and launches others before that.
type Move struct {
	// Reason is Empty or Underutilized.
	Reason api.DisruptionReason `json:"reason"`
	// Delete are the nodes to delete, by name.
	Delete []Leaving `json:"delete"`
	// Launch are the claims to make first. Their offerings are only those with which the move saves
	// enough.
	Launch []plan.PlannedNodeClaim `json:"launch,omitempty"`
	// Places are the pods that existing nodes, or nodes in flight, have room for.
	Places []plan.Nomination `json:"places,omitempty"`
	// Await are the names of the claims in flight that Places counts on. They must be initialized
	// before a node is deleted.
	Await []string `json:"await,omitempty"`
	// SavedPerHour is what the move saves in US dollars per hour if each launch gets its cheapest
	// offering. SavedAtLeast is the same if each launch gets its dearest.
	SavedPerHour float64 `json:"savedPerHour"`
	SavedAtLeast float64 `json:"savedAtLeast"`
	// RiskSavedPerHour is the part of SavedPerHour for interruptions, which is on no bill. It is
	// less than zero where the new nodes risk more.
	RiskSavedPerHour float64 `json:"riskSavedPerHour,omitempty"`
	// PodsMoved is how many pods are evicted and come back elsewhere, without those of DaemonSets.
	PodsMoved int `json:"podsMoved"`
	// PodsEnded is how many of them no controller makes again.
	PodsEnded int `json:"podsEnded,omitempty"`
	// Disturbance is the sum of protection.EvictionCost of these pods, none less than zero. The other
	// pods of their gangs count too, because they restart with them.
	Disturbance float64 `json:"disturbance"`
}

// SavingsPerDisturbance is what the move saves in US dollars per hour, divided by its disturbance,
// in which each deleted node counts as one. It orders moves.
func (m *Move) SavingsPerDisturbance() float64 {
	return m.SavedPerHour / (float64(len(m.Delete)) + m.Disturbance)
}

// BilledSavingsPerHour is the part of SavedPerHour that is on a bill.
func (m *Move) BilledSavingsPerHour() float64 { return m.SavedPerHour - m.RiskSavedPerHour }

// EndsPods says that the move ends pods which do not come back, or is empty.
func (m *Move) EndsPods() string {
	if m.PodsEnded == 0 {
		return ""
	}
	return fmt.Sprintf("ends %s that no controller makes again", state.Pods(m.PodsEnded))
}

// Leaving is a node to delete.
type Leaving struct {
	NodeClaim    string `json:"nodeClaim"`
	Node         string `json:"node"`
	NodePool     string `json:"nodePool"`
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	// PricePerHour is the node's price. ExtrasPerHour is the part of it that the node costs beside
	// its instance, RiskPerHour the part for interruptions.
	PricePerHour  float64       `json:"pricePerHour"`
	ExtrasPerHour float64       `json:"extrasPerHour,omitempty"`
	RiskPerHour   float64       `json:"riskPerHour,omitempty"`
	Pods          []plan.PodRef `json:"pods,omitempty"`
}

// Stay is a node that no move deletes, and why.
type Stay struct {
	NodeClaim string `json:"nodeClaim"`
	// Node is empty before the node has joined.
	Node     string `json:"node,omitempty"`
	NodePool string `json:"nodePool"`
	// PricePerHour is in US dollars per hour. It is zero if it is not known. ExtrasPerHour is the part
	// of it that the node costs beside its instance, RiskPerHour the part for interruptions.
	PricePerHour  float64 `json:"pricePerHour"`
	ExtrasPerHour float64 `json:"extrasPerHour,omitempty"`
	RiskPerHour   float64 `json:"riskPerHour,omitempty"`
	// Because is the kind of the reason. Message is the reason for people to read.
	Because Because `json:"because"`
	Message string  `json:"message"`
}

// Because is the kind of a reason to stay.
type Because = state.Because

// The kinds of reasons: see package state for their meaning.
const (
	Protected = state.Protected
	Policy    = state.Policy
	Unsettled = state.Unsettled
	Unpriced  = state.Unpriced
	Needed    = state.Needed
	TooLittle = state.TooLittle
)

// Problem is a setting that cannot be read.
type Problem struct {
	NodePool string `json:"nodePool"`
	// Message names the setting and says how to mend it.
	Message string `json:"message"`
}

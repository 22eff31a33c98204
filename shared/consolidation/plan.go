package consolidation

import (
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Plan is what is to be moved, and why the rest stays.
type Plan struct {
	// Moves are within the budgets now, the best first: see Move.Worth.
	Moves []Move `json:"moves,omitempty"`
	// Waiting are moves that the budgets do not allow now.
	Waiting []Move `json:"waiting,omitempty"`
	// Stays are the other nodes that claims stand for, by name.
	Stays []Stay `json:"stays,omitempty"`
	// Problems are settings of NodePools that cannot be read. Such a pool's nodes stay.
	Problems []Problem `json:"problems,omitempty"`
	// PricePerHour is what the nodes cost now that claims stand for and whose price is known, AfterPerHour what they will once Moves are carried out, in US dollars, each new node at its
	// cheapest offering.
	PricePerHour float64 `json:"pricePerHour"`
	AfterPerHour float64 `json:"afterPerHour"`
}

// Move is one step: nodes that go, and those that are launched before they do.
type Move struct {
	// Reason is Empty or Underutilized.
	Reason api.DisruptionReason `json:"reason"`
	// Delete are the nodes that go, by name.
	Delete []Leaving `json:"delete"`
	// Launch are the claims to make first. Their offerings are only those with which the move saves what it has to.
	Launch []plan.PlannedNodeClaim `json:"launch,omitempty"`
	// Places are the pods that existing nodes have room for, or nodes on their way.
	Places []plan.Nomination `json:"places,omitempty"`
	// Await are the names of the claims on their way that Places counts on: they must be initialized before anything is deleted.
	Await []string `json:"await,omitempty"`
	// SavedPerHour is what the move saves in US dollars an hour if each launch gets its cheapest offering, SavedAtLeast if each gets its dearest.
	SavedPerHour float64 `json:"savedPerHour"`
	SavedAtLeast float64 `json:"savedAtLeast"`
	// PodsMoved is how many pods are evicted and come back elsewhere; those of DaemonSets are not among them.
	PodsMoved int `json:"podsMoved"`
	// Disturbance is what evicting them costs compared with others: the sum of disruption.EvictionCost, none of them less than zero.
	Disturbance float64 `json:"disturbance"`
}

// Worth is what a move saves in US dollars an hour for what it disturbs, a node without pods counting as one: what moves are ordered by.
func (m *Move) Worth() float64 { return m.SavedPerHour / (float64(len(m.Delete)) + m.Disturbance) }

// Leaving is a node that goes.
type Leaving struct {
	NodeClaim    string        `json:"nodeClaim"`
	Node         string        `json:"node"`
	NodePool     string        `json:"nodePool"`
	InstanceType string        `json:"instanceType"`
	Zone         string        `json:"zone"`
	CapacityType string        `json:"capacityType"`
	PricePerHour float64       `json:"pricePerHour"`
	Pods         []plan.PodRef `json:"pods,omitempty"`
}

// Stay is a node that no move takes, and why.
type Stay struct {
	NodeClaim string `json:"nodeClaim"`
	// Node is empty as long as the node has not joined.
	Node     string `json:"node,omitempty"`
	NodePool string `json:"nodePool"`
	// PricePerHour is zero where it is not known.
	PricePerHour float64 `json:"pricePerHour"`
	// Because is the kind of the reason, Message the reason for people to read.
	Because Because `json:"because"`
	Message string  `json:"message"`
}

// Because is the kind of a reason to stay.
type Because string

const (
	// Protected: a person, a pod or a PodDisruptionBudget keeps the node.
	Protected Because = "Protected"
	// Policy: its NodePool does not want it consolidated.
	Policy Because = "Policy"
	// Unsettled: it is starting or leaving, pods are coming to it, or it has changed too lately.
	Unsettled Because = "Unsettled"
	// Unpriced: what it costs is not known.
	Unpriced Because = "Unpriced"
	// Needed: its pods fit nowhere else for less.
	Needed Because = "Needed"
	// TooLittle: moving its pods would save less than its NodePool asks for.
	TooLittle Because = "TooLittle"
)

// Problem is a setting that cannot be read.
type Problem struct {
	NodePool string `json:"nodePool"`
	// Message names the setting and how to mend it.
	Message string `json:"message"`
}

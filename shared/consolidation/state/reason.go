package state

import "fmt"

// Because is the kind of a reason why a node stays.
type Because string

// Kinds of reasons. Package eligibility gives the first four, the search the last two.
const (
	// Protected: a person, a pod or a PodDisruptionBudget keeps the node.
	Protected Because = "Protected"
	// Policy: its NodePool excludes it from consolidation.
	Policy Because = "Policy"
	// Unsettled: it is starting or leaving, pods are on their way to it, or it changed too
	// recently.
	Unsettled Because = "Unsettled"
	// Unpriced: its price is not known.
	Unpriced Because = "Unpriced"
	// Needed: its pods fit nowhere else for less.
	Needed Because = "Needed"
	// TooLittle: moving its pods would save less than its NodePool requires.
	TooLittle Because = "TooLittle"
)

// Refusal is a reason why a node stays or a step is not made. The zero value refuses nothing.
type Refusal struct {
	Because Because
	// Message is the reason for people to read. It speaks of the node as "it".
	Message string
}

// IsZero tells that nothing is refused.
func (r Refusal) IsZero() bool { return r.Because == "" }

// Pods counts pods in a message: "1 pod", "2 pods".
func Pods(count int) string {
	if count == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", count)
}

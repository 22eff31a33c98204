package attempt

import (
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// Answer is what EC2 answered to a group's request.
type Answer struct {
	Instances []Instance
	// Short are the offerings that EC2 had no room for.
	Short []Shortage
	// Earlier means that the instances are those that EC2 shows of an earlier request.
	Earlier bool
	// Failure says why there are fewer instances than asked for. It is nil when EC2 only had no
	// room for more.
	Failure *Failure
}

// Instance is an instance that EC2 launched.
type Instance struct {
	ID            string
	Type          string
	Zone          string
	CapacityType  string // spot, on-demand or reserved
	ReservationID string // of the capacity reservation that it runs in, if any
	ImageID       string
}

// ProviderID is the name under which Kubernetes knows the instance.
func (i *Instance) ProviderID() string { return api.ProviderID(i.Zone, i.ID) }

// Shortage is an offering that EC2 had no room for, or refused.
type Shortage struct {
	// Key names the offering as catalog.Unavailable does. It is left out of launches for so long.
	Key string
	For time.Duration
	// Code is EC2's code.
	Code string
	// Reason and Advice are for an event about the pool. Advice says what a person has to change,
	// and is empty where nobody has to.
	Reason, Advice string
	// Refused means that EC2 refuses the offering for the class, as where a policy denies the type.
	Refused bool
}

// Failure is an answer of EC2's other than a shortage.
type Failure struct {
	// Message says what EC2 said, and what mends it where that is known.
	Message string
	// Reason is Karpenter's, where the cause is known.
	Reason string
	// Class is the condition of the EC2NodeClass that is not true after all. It is empty where the
	// class is not the cause.
	Class string
	// Unfit are the offerings that EC2 refused for a reason that nobody knows.
	Unfit []Shortage
	// Ended means that the token is used up: the same request would get the same answer.
	Ended bool
	// Unseen means that an earlier request may have been carried out, and EC2 does not show its
	// instances yet.
	Unseen bool
}

package api

import (
	"time"
)

// Values that fields have where nobody set them.
const (
	// DefaultExpireAfter is the life of a node.
	DefaultExpireAfter = 720 * time.Hour
	// DefaultBudgetNodes is what a budget allows.
	DefaultBudgetNodes = "10%"
	// DefaultHTTPPutResponseHopLimit keeps instance metadata from pods that have a
	// network of their own.
	DefaultHTTPPutResponseHopLimit = 1
)

// Default fills in the fields that are unset and have a default.
func (p *NodePool) Default() {
	defaultExpireAfter(&p.Spec.Template.Spec.ExpireAfter)
	disruption := &p.Spec.Disruption
	if disruption.ConsolidateAfter.IsZero() {
		disruption.ConsolidateAfter = NillableDuration{Duration: new(time.Duration), Raw: []byte("0s")}
	}
	if disruption.ConsolidationPolicy == "" {
		disruption.ConsolidationPolicy = ConsolidationPolicyWhenEmptyOrUnderutilized
	}
	// An empty list is a choice: no budget at all.
	if disruption.Budgets == nil {
		disruption.Budgets = []Budget{{}}
	}
	for i := range disruption.Budgets {
		if disruption.Budgets[i].Nodes == "" {
			disruption.Budgets[i].Nodes = DefaultBudgetNodes
		}
	}
}

// Default fills in the fields that are unset and have a default.
func (c *NodeClaim) Default() {
	defaultExpireAfter(&c.Spec.ExpireAfter)
}

// Default fills in the fields that are unset and have a default. The disks' defaults
// depend on the AMI family and are settled at the launch.
func (c *EC2NodeClass) Default() {
	if c.Spec.MetadataOptions == nil {
		c.Spec.MetadataOptions = &MetadataOptions{}
	}
	options := c.Spec.MetadataOptions
	setDefault(&options.HTTPEndpoint, "enabled")
	setDefault(&options.HTTPProtocolIPv6, "disabled")
	setDefault(&options.HTTPPutResponseHopLimit, DefaultHTTPPutResponseHopLimit)
	setDefault(&options.HTTPTokens, "required")
	for i := range c.Status.CapacityReservations {
		reservation := &c.Status.CapacityReservations[i]
		if reservation.ReservationType == "" {
			reservation.ReservationType = CapacityReservationTypeDefault
		}
		if reservation.State == "" {
			reservation.State = CapacityReservationStateActive
		}
	}
}

func defaultExpireAfter(d *NillableDuration) {
	if d.IsZero() {
		expireAfter := DefaultExpireAfter
		*d = NillableDuration{Duration: &expireAfter, Raw: []byte("720h")}
	}
}

func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

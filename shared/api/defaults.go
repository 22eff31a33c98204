package api

import (
	"maps"
	"time"
)

// Defaults of fields, as in the schema.
const (
	// DefaultExpireAfter is the time after which a node expires.
	DefaultExpireAfter = 720 * time.Hour
	// DefaultConsolidateAfter is no time at all, in a spelling that people hardly use.
	DefaultConsolidateAfter = "0h"
	// DefaultBudgetNodes is the part of a pool's nodes that a budget allows.
	DefaultBudgetNodes = "10%"
	// DefaultHTTPPutResponseHopLimit hides instance metadata from pods that do not use the host's
	// network.
	DefaultHTTPPutResponseHopLimit = 1
)

// Default fills in unset fields that have a default. The nodes of a pool that has the label
// ProvisionerNameLabelKey get it from the template.
func (p *NodePool) Default() {
	if name := p.Labels[ProvisionerNameLabelKey]; name != "" {
		labels := map[string]string{ProvisionerNameLabelKey: name}
		maps.Copy(labels, p.Spec.Template.Labels)
		p.Spec.Template.Labels = labels
	}
	defaultExpireAfter(&p.Spec.Template.Spec.ExpireAfter)
	disruption := &p.Spec.Disruption
	if disruption.ConsolidateAfter.IsZero() {
		disruption.ConsolidateAfter = NillableDuration{Duration: new(time.Duration), Raw: []byte(DefaultConsolidateAfter)}
	}
	if disruption.ConsolidationPolicy == "" {
		disruption.ConsolidationPolicy = ConsolidationPolicyWhenEmptyOrUnderutilized
	}
	// An empty list is a choice of the pool's owner: no budget limits its disruption.
	if disruption.Budgets == nil {
		disruption.Budgets = []Budget{{}}
	}
	for i := range disruption.Budgets {
		if disruption.Budgets[i].Nodes == "" {
			disruption.Budgets[i].Nodes = DefaultBudgetNodes
		}
	}
}

// Default fills in unset fields that have a default.
func (c *NodeClaim) Default() {
	defaultExpireAfter(&c.Spec.ExpireAfter)
}

// Default fills in unset fields that have a default. The defaults of disks depend on the AMI
// family, so package nodeclass applies them.
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

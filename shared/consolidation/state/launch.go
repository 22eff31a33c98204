package state

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// launch adds the cheapest node that the claim may become, and takes it off its stock: its reservation, or the
// commitment that pays for it.
func (f *Fleet) launch(planned *plan.PlannedNodeClaim, g *group) *Node {
	n := f.NewLaunched(planned)
	n.group = g
	f.Nodes = append(f.Nodes, n)
	switch choice := planned.Offerings[0]; {
	case choice.ReservationID != "":
		f.types = changeOfferings(f.types, func(o catalog.Offering) bool { return o.ReservationID == choice.ReservationID },
			func(o *catalog.Offering) {
				o.ReservationCapacity--
				o.Available = o.Available && o.ReservationCapacity > 0
			})
		clear(f.below)
	case choice.Commitment != "":
		_, offering := n.Pool.offeringOf(choice)
		f.types = changeOfferings(f.types, func(o catalog.Offering) bool { return o.Commitment() == choice.Commitment },
			func(o *catalog.Offering) {
				coverage := *o.Coverage
				coverage.Left -= offering.Coverage.Units
				o.Coverage, o.Available = &coverage, o.Available && coverage.Left >= coverage.Units
			})
		clear(f.below)
	}
	return n
}

// NewLaunched is the cheapest node that the claim may become. It is not part of the fleet.
func (f *Fleet) NewLaunched(planned *plan.PlannedNodeClaim) *Node {
	p := f.PoolOf(planned)
	typ, offering := p.offeringOf(planned.Offerings[0])
	f.serial++
	n := &Node{
		Name: fmt.Sprintf("~%06d", f.serial), Pool: p, Price: planned.PricePerHour, Extras: planned.ExtrasPerHour,
		Risk: planned.RiskPerHour, Candidate: true, Launched: planned,
	}
	claim := planned.NodeClaim
	claim.Name, claim.GenerateName = n.Name, ""
	object := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: labelsOf(planned, typ, offering)}}
	object.Labels[corev1.LabelHostname] = n.Name
	object.Labels[api.NodeRegisteredLabelKey], object.Labels[api.NodeInitializedLabelKey] = "true", "true"
	object.Spec.Taints = claim.Spec.Taints
	object.Status.Capacity, object.Status.Allocatable = typ.Capacity, typ.Allocatable
	claim.Labels, claim.Status.Capacity, claim.Status.Allocatable = object.Labels, typ.Capacity, typ.Allocatable
	n.Source = &plan.Node{Node: object, NodeClaim: &claim}
	n.domains = f.domainsOf(n)
	return n
}

// labelsOf are the labels of a node that is launched from the claim by the offering.
func labelsOf(
	planned *plan.PlannedNodeClaim, typ *catalog.InstanceType, offering *catalog.Offering,
) map[string]string {
	labels := map[string]string{}
	for _, r := range planned.NodeClaim.Spec.Requirements {
		if r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
			labels[scheduling.NormalizeKey(r.Key)] = r.Values[0]
		}
	}
	maps.Copy(labels, planned.NodeClaim.Labels)
	maps.Copy(labels, typ.Requirements.Labels())
	maps.Copy(labels, offering.Requirements.Labels())
	labels[corev1.LabelTopologyZone], labels[api.CapacityTypeLabelKey] = offering.Zone, offering.CapacityType
	if offering.ZoneID != "" {
		labels[api.LabelTopologyZoneID] = offering.ZoneID
	}
	if offering.ReservationID != "" {
		labels[api.LabelCapacityReservationID] = offering.ReservationID
	}
	return labels
}

// changeOfferings are the instance types with some of their offerings changed. Pools that share a list still share
// one.
func changeOfferings(
	lists map[string][]catalog.InstanceType, which func(catalog.Offering) bool, change func(*catalog.Offering),
) map[string][]catalog.InstanceType {
	made := make(map[string][]catalog.InstanceType, len(lists))
	copies := map[*catalog.InstanceType][]catalog.InstanceType{}
	for pool, list := range lists {
		if len(list) == 0 {
			continue
		}
		changed := copies[&list[0]]
		if changed == nil {
			changed = slices.Clone(list)
			for i := range changed {
				if slices.ContainsFunc(changed[i].Offerings, which) {
					changed[i].Offerings = changeEach(changed[i].Offerings, which, change)
				}
			}
			copies[&list[0]] = changed
		}
		made[pool] = changed
	}
	return made
}

// changeEach returns a copy in which those offerings are changed.
func changeEach(
	offerings []catalog.Offering, which func(catalog.Offering) bool, change func(*catalog.Offering),
) []catalog.Offering {
	changed := slices.Clone(offerings)
	for i := range changed {
		if which(changed[i]) {
			change(&changed[i])
		}
	}
	return changed
}

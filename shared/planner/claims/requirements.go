package claims

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// claimRequirements are the requirements and labels of a claim.
type claimRequirements struct {
	terms  []api.NodeSelectorRequirementWithMinValues
	labels map[string]string
	// minValuesLowered says that some minValues are lower than the NodePool's.
	minValuesLowered bool
}

// requirementsOf returns the requirements of a node's claim. They follow from its choices, its
// NodePool, and the label feasibilities of its demands.
func (w *claimWriter) requirementsOf(n *placement.PlannedNode, c *choices) *claimRequirements {
	w.feasibilities = w.feasibilities[:0]
	for _, f := range n.Fills {
		index := w.state.Demands[f.Demand].Feasibility.LabelFeasibility.Index
		if !slices.Contains(w.feasibilities, index) {
			w.feasibilities = append(w.feasibilities, index)
		}
	}
	slices.Sort(w.feasibilities)
	w.key = binary.AppendUvarint(w.key[:0], uint64(c.index))
	start := len(w.key)
	w.key = binary.AppendUvarint(w.key, uint64(w.state.Offers.PoolTypeOf(n.Offering).Pool.FirstType))
	for _, index := range w.feasibilities {
		w.key = binary.AppendUvarint(w.key, uint64(index))
	}
	number, isNew := w.requirementKeys.Number(w.key)
	if isNew {
		base, ok := w.bases[string(w.key[start:])]
		if !ok {
			base = sortedByKey(w.state.LabelsOf(n))
			w.bases[string(w.key[start:])] = base
		}
		w.requirements = append(w.requirements, w.newRequirements(n, c, base))
	}
	return w.requirements[number]
}

// sortedByKey lists requirements by label.
func sortedByKey(requirements scheduling.Requirements) []scheduling.Requirement {
	list := make([]scheduling.Requirement, 0, len(requirements))
	for _, r := range requirements {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b scheduling.Requirement) int { return strings.Compare(a.Key(), b.Key()) })
	return list
}

// addRequirement adds a requirement to a list that is sorted by label.
func addRequirement(list []scheduling.Requirement, r scheduling.Requirement) []scheduling.Requirement {
	i, found := slices.BinarySearchFunc(
		list,
		r.Key(),
		func(a scheduling.Requirement, key string) int { return strings.Compare(a.Key(), key) },
	)
	if !found {
		return slices.Insert(list, i, r)
	}
	list[i] = list[i].Intersection(r)
	return list
}

// newRequirements adds the choices to the base requirements, which it does not change.
func (w *claimWriter) newRequirements(
	n *placement.PlannedNode,
	c *choices,
	base []scheduling.Requirement,
) *claimRequirements {
	offers := w.state.Offers
	pool := offers.PoolTypeOf(n.Offering).Pool
	list := append(make([]scheduling.Requirement, 0, len(base)+4), base...)
	list = addChoices(list, c)
	for i, r := range list {
		if pool.KeepsSeveral(r.Key()) && !scheduling.IsWellKnown(r.Key()) {
			list[i] = r.Intersection(scheduling.In(r.Key(), valuesOf(offers, pool, c.numbers, r.Key())...))
			continue
		}
		// Nothing else gives the node a user label. One value is chosen, so that the node has it.
		if _, decided := r.Single(); !decided && !scheduling.IsWellKnown(r.Key()) {
			if value, ok := offers.ValueOn(n.Offering, r); ok {
				list[i] = r.Intersection(scheduling.In(r.Key(), value))
			}
		}
	}
	result := &claimRequirements{labels: make(map[string]string, len(list)+len(pool.NodePool.Spec.Template.Labels))}
	if offers.BestEffortMinValues() {
		result.minValuesLowered = lowerMinValues(offers, pool, c.numbers, list)
	}
	result.terms = make([]api.NodeSelectorRequirementWithMinValues, 0, len(list))
	for _, r := range list {
		// API servers refuse a requirement on this label of Provisioners. A label is enough for the node.
		if r.Key() != api.ProvisionerNameLabelKey {
			result.terms = r.AppendTerms(result.terms)
		}
		if value, ok := r.Single(); ok && !api.IsRestrictedLabel(r.Key()) {
			result.labels[r.Key()] = value
		}
	}
	maps.Copy(result.labels, pool.NodePool.Spec.Template.Labels)
	result.labels[api.NodePoolLabelKey] = pool.Name()
	return result
}

// valuesOf are the values of a label that the offerings have.
func valuesOf(offers *offering.Index, pool *offering.Pool, numbers []int, key string) []string {
	var values []string
	for _, j := range numbers {
		for _, value := range offers.ValuesOf(pool, j, key) {
			values = appendOnce(values, value)
		}
	}
	return values
}

// addChoices requires the instance types, zones, capacity types and reservations of the choices.
func addChoices(list []scheduling.Requirement, c *choices) []scheduling.Requirement {
	var zones, capacityTypes, reservations []string
	for i := range c.offerings {
		zones = appendOnce(zones, c.offerings[i].Zone)
		capacityTypes = appendOnce(capacityTypes, c.offerings[i].CapacityType)
		if id := c.offerings[i].ReservationID; id != "" {
			reservations = appendOnce(reservations, id)
		}
	}
	list = addRequirement(list, scheduling.In(corev1.LabelInstanceTypeStable, c.types...))
	list = addRequirement(list, scheduling.In(api.CapacityTypeLabelKey, capacityTypes...))
	if !slices.Contains(zones, "") {
		list = addRequirement(list, scheduling.In(corev1.LabelTopologyZone, zones...))
	}
	if len(reservations) > 0 {
		list = addRequirement(list, scheduling.In(api.LabelCapacityReservationID, reservations...))
	}
	return list
}

// appendOnce appends a value that the list does not have. Lists are short, so a scan is quick.
func appendOnce(values []string, value string) []string {
	if slices.Contains(values, value) {
		return values
	}
	return append(values, value)
}

// lowerMinValues lowers minValues to as many values as the offerings have, but at least one. It
// reports whether it lowered any.
func lowerMinValues(
	offers *offering.Index,
	pool *offering.Pool,
	offerings []int,
	requirements []scheduling.Requirement,
) bool {
	lowered := false
	for i, r := range requirements {
		least, ok := pool.MinValues[r.Key()]
		if !ok {
			continue
		}
		values := map[string]bool{}
		for _, j := range offerings {
			for _, value := range offers.ValuesOf(pool, j, r.Key()) {
				values[value] = true
			}
		}
		if len(values) < least {
			requirements[i] = r.WithMinValues(max(len(values), 1))
			lowered = true
		}
	}
	return lowered
}

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

// requirements are a claim's requirements and labels.
type claimRequirements struct {
	terms  []api.NodeSelectorRequirementWithMinValues
	labels map[string]string
	// relaxed says that minValues were lowered to what there is.
	relaxed bool
}

// requirementsOf is what the claim of a node with these choices asks for. It follows from the
// choices, the classes of what is on the node, and the open labels that are decided.
func (w *claimWriter) requirementsOf(n *placement.PlannedNode, c *choices) *claimRequirements {
	p := w.p
	w.classes = w.classes[:0]
	for _, f := range n.Fills {
		if index := p.Demands[f.Demand].Feasibility.LabelFeasibility.Index; !slices.Contains(w.classes, index) {
			w.classes = append(w.classes, index)
		}
	}
	slices.Sort(w.classes)
	w.key = binary.AppendUvarint(w.key[:0], uint64(c.index))
	start := len(w.key)
	w.key = binary.AppendUvarint(w.key, uint64(p.Offers.PoolTypeOf(n.Offering).Pool.FirstType))
	for _, class := range w.classes {
		w.key = binary.AppendUvarint(w.key, uint64(class))
	}
	number, isNew := w.requirementKeys.Number(w.key)
	if isNew {
		base, ok := w.bases[string(w.key[start:])]
		if !ok {
			base = inOrder(p.LabelsOf(n))
			w.bases[string(w.key[start:])] = base
		}
		w.requirements = append(w.requirements, w.readRequirements(n, c, base))
	}
	return w.requirements[number]
}

// inOrder are the requirements sorted by key.
func inOrder(requirements scheduling.Requirements) []scheduling.Requirement {
	list := make([]scheduling.Requirement, 0, len(requirements))
	for _, r := range requirements {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b scheduling.Requirement) int { return strings.Compare(a.Key(), b.Key()) })
	return list
}

// narrowed adds a requirement to a list that is sorted by key.
func narrowed(list []scheduling.Requirement, r scheduling.Requirement) []scheduling.Requirement {
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

func (w *claimWriter) readRequirements(
	n *placement.PlannedNode,
	c *choices,
	base []scheduling.Requirement,
) *claimRequirements {
	p := w.p
	pool := p.Offers.PoolTypeOf(n.Offering).Pool
	var zones, capacityTypes, reservations []string
	for i := range c.offerings {
		zones = WithValue(zones, c.offerings[i].Zone)
		capacityTypes = WithValue(capacityTypes, c.offerings[i].CapacityType)
		if id := c.offerings[i].ReservationID; id != "" {
			reservations = WithValue(reservations, id)
		}
	}
	requirements := append(make([]scheduling.Requirement, 0, len(base)+4), base...)
	requirements = narrowed(requirements, scheduling.In(corev1.LabelInstanceTypeStable, c.types...))
	requirements = narrowed(requirements, scheduling.In(api.CapacityTypeLabelKey, capacityTypes...))
	if !slices.Contains(zones, "") {
		requirements = narrowed(requirements, scheduling.In(corev1.LabelTopologyZone, zones...))
	}
	if len(reservations) > 0 {
		requirements = narrowed(requirements, scheduling.In(api.LabelCapacityReservationID, reservations...))
	}
	a := &claimRequirements{labels: make(map[string]string, len(requirements)+len(pool.NodePool.Spec.Template.Labels))}
	for i, r := range requirements {
		// A label of the user's own that nothing has decided gets some value that is allowed, or the node
		// would not meet its claim.
		if _, decided := r.Single(); !decided && !scheduling.IsWellKnown(r.Key()) {
			if value, ok := p.Offers.ValueOn(n.Offering, r); ok {
				requirements[i] = r.Intersection(scheduling.In(r.Key(), value))
			}
		}
	}
	if p.Offers.BestEffortMinValues() {
		a.relaxed = lowerMinValues(p, pool, c.columns, requirements)
	}
	a.terms = make([]api.NodeSelectorRequirementWithMinValues, 0, len(requirements))
	for _, r := range requirements {
		a.terms = r.AppendTerms(a.terms)
		if value, ok := r.Single(); ok && !api.IsRestrictedLabel(r.Key()) {
			a.labels[r.Key()] = value
		}
	}
	maps.Copy(a.labels, pool.NodePool.Spec.Template.Labels)
	a.labels[api.NodePoolLabelKey] = pool.Name()
	return a
}

// WithValue adds a value to a short list, once.
func WithValue(values []string, value string) []string {
	if slices.Contains(values, value) {
		return values
	}
	return append(values, value)
}

// lowerMinValues lowers minValues to as many values as the offerings offer, and reports whether any
// was lowered.
func lowerMinValues(
	p *placement.State,
	pool *offering.Pool,
	columns []int,
	requirements []scheduling.Requirement,
) bool {
	lowered := false
	for i, r := range requirements {
		least, ok := pool.MinValues[r.Key()]
		if !ok {
			continue
		}
		values := map[string]bool{}
		for _, j := range columns {
			for _, value := range p.Offers.ValuesOf(pool, j, r.Key()) {
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

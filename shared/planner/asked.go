package planner

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// asked are a claim's requirements and labels.
type asked struct {
	terms  []api.NodeSelectorRequirementWithMinValues
	labels map[string]string
	// relaxed says that minValues were lowered to what there is.
	relaxed bool
}

// ask is what the claim of a node with these choices asks for. It follows from the choices, the classes of what is on the node, and the open labels that are decided.
func (w *claimWriter) ask(n *node, c *chosen) *asked {
	p := w.p
	w.classes = w.classes[:0]
	for _, f := range n.fills {
		if index := p.demands[f.demand].class.labelled.index; !slices.Contains(w.classes, index) {
			w.classes = append(w.classes, index)
		}
	}
	slices.Sort(w.classes)
	w.key = binary.AppendUvarint(w.key[:0], uint64(c.index))
	start := len(w.key)
	w.key = binary.AppendUvarint(w.key, uint64(p.offers.configOf(n.column).pool.firstConfig))
	for _, class := range w.classes {
		w.key = binary.AppendUvarint(w.key, uint64(class))
	}
	number, isNew := w.asks.of(w.key)
	if isNew {
		base, ok := w.bases[string(w.key[start:])]
		if !ok {
			base = inOrder(p.labelsOf(n))
			w.bases[string(w.key[start:])] = base
		}
		w.asked = append(w.asked, w.readAsked(n, c, base))
	}
	return w.asked[number]
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
	i, found := slices.BinarySearchFunc(list, r.Key(), func(a scheduling.Requirement, key string) int { return strings.Compare(a.Key(), key) })
	if !found {
		return slices.Insert(list, i, r)
	}
	list[i] = list[i].Intersection(r)
	return list
}

func (w *claimWriter) readAsked(n *node, c *chosen, base []scheduling.Requirement) *asked {
	p := w.p
	pool := p.offers.configOf(n.column).pool
	var zones, capacityTypes, reservations []string
	for i := range c.offerings {
		zones = withValue(zones, c.offerings[i].Zone)
		capacityTypes = withValue(capacityTypes, c.offerings[i].CapacityType)
		if id := c.offerings[i].ReservationID; id != "" {
			reservations = withValue(reservations, id)
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
	a := &asked{labels: make(map[string]string, len(requirements)+len(pool.api.Spec.Template.Labels))}
	for i, r := range requirements {
		// A label of the user's own that nothing has decided gets some value that is allowed, or the node would not meet its claim.
		if _, decided := r.Single(); !decided && !scheduling.IsWellKnown(r.Key()) {
			if value, ok := p.offers.valueOn(n.column, r); ok {
				requirements[i] = r.Intersection(scheduling.In(r.Key(), value))
			}
		}
	}
	if p.offers.bestEffort() {
		a.relaxed = lowerMinValues(p, pool, c.columns, requirements)
	}
	a.terms = make([]api.NodeSelectorRequirementWithMinValues, 0, len(requirements))
	for _, r := range requirements {
		a.terms = r.AppendTerms(a.terms)
		if value, ok := r.Single(); ok && !api.IsRestrictedLabel(r.Key()) {
			a.labels[r.Key()] = value
		}
	}
	maps.Copy(a.labels, pool.api.Spec.Template.Labels)
	a.labels[api.NodePoolLabelKey] = pool.name()
	return a
}

// withValue adds a value to a short list, once.
func withValue(values []string, value string) []string {
	if slices.Contains(values, value) {
		return values
	}
	return append(values, value)
}

// lowerMinValues lowers minValues to as many values as the columns offer, and reports whether any was lowered.
func lowerMinValues(p *placements, pool *pool, columns []int, requirements []scheduling.Requirement) bool {
	lowered := false
	for i, r := range requirements {
		least, ok := pool.minValues[r.Key()]
		if !ok {
			continue
		}
		values := map[string]bool{}
		for _, j := range columns {
			for _, value := range p.offers.valuesOf(pool, j, r.Key()) {
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

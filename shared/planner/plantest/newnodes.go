package plantest

import (
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// newNodeFor names a new node of the pool that could hold the pod within the pool's limits, or
// returns nothing.
func (c *checker) newNodeFor(p *pod, in *pool) string {
	left := c.left(in)
	found := ""
	c.newNodes(p, in, func(v *variant, h *host) bool {
		if !c.hasRoom(left, v) || !c.othersAllow(p, h) {
			return true
		}
		if !c.hasStock(v.offering) {
			return true
		}
		if c.snapshot.MinValuesPolicy != plan.MinValuesBestEffort && !c.enoughValues(p, in, v) {
			return true
		}
		found = "a new " + v.String() + " of pool " + in.Name
		return false
	})
	return found
}

// newNodes calls f with every new node of the pool that could hold the pod if the pod were alone.
// It stops when f returns false.
func (c *checker) newNodes(p *pod, in *pool, f func(*variant, *host) bool) {
	if !in.open {
		return
	}
	template := &in.Spec.Template
	if _, kept := untolerated(template.Spec.Taints, p.object.Spec.Tolerations, false); kept {
		return
	}
	fixed := nodeLabels("a-new-node", template.Spec.NodeClassRef)
	fixed[api.NodePoolLabelKey] = in.Name
	for _, chosen := range c.labelChoices(p, in) {
		for i := range in.types {
			t := &in.types[i]
			known := c.labelsOf(t)
			for j := range t.Offerings {
				if !t.Offerings[j].Available {
					continue
				}
				labels := labelSet{known.offering[j], known.own, fixed, chosen, template.Labels}
				if _, ok := labels.meets(template.Spec.Requirements); !ok || !p.filter.matches(labels, "") ||
					!p.volumes.usable(labels, "", false) {
					continue
				}
				v := variant{t, &t.Offerings[j], labels}
				h := &host{
					name: "a-new-node", labels: labels, taints: template.Spec.Taints, allocatable: known.allocatable,
					planned: &plannedNode{pool: in},
				}
				with := *h
				with.placed = []*pod{p}
				if len(c.overfull(&with)) == 0 && c.attaches(with.placed, t) && !f(&v, h) {
					return
				}
			}
		}
	}
}

// chosenLayer is the index of the labels from labelChoices among the labels of a new node.
const chosenLayer = 3

// labelChoices returns the ways to choose values for the labels that the pool requires but neither
// its template nor its instance types settle. Values that the pod names come first.
func (c *checker) labelChoices(p *pod, in *pool) []map[string]string {
	given := maps.Clone(c.settledLabels(in))
	result := []map[string]string{{}}
	for _, r := range in.Spec.Template.Spec.Requirements {
		if given[r.Key] || r.Operator == corev1.NodeSelectorOpDoesNotExist {
			continue
		}
		given[r.Key] = true
		candidates := r.Values
		switch {
		case r.Operator == corev1.NodeSelectorOpNotIn:
			// A node gets such a label only if a pod asks for it.
			candidates = append(p.filter.valuesOf(r.Key), "")
		case r.Operator != corev1.NodeSelectorOpIn:
			candidates = p.filter.valuesOf(r.Key)
			if !p.hasTopologyTerm(r.Key) {
				candidates = append(candidates, valueFor(&r))
			}
		}
		var next []map[string]string
		for _, chosen := range result {
			for _, value := range candidates {
				with := maps.Clone(chosen)
				if value != "" {
					with[r.Key] = value
				}
				next = append(next, with)
			}
		}
		result = next
	}
	return result
}

// valueFor returns a value that meets a requirement without a list of values.
func valueFor(r *api.NodeSelectorRequirementWithMinValues) string {
	if len(r.Values) != 1 {
		return "any"
	}
	bound, err := strconv.Atoi(r.Values[0])
	switch {
	case err != nil:
		return "any"
	case r.Operator == corev1.NodeSelectorOpGt:
		return strconv.Itoa(bound + 1)
	case r.Operator == corev1.NodeSelectorOpLt:
		return strconv.Itoa(bound - 1)
	}
	return r.Values[0]
}

// settledLabels returns the labels that the pool's template, its instance types or every node have,
// and the well-known labels.
func (c *checker) settledLabels(in *pool) map[string]bool {
	if in.settled != nil {
		return in.settled
	}
	in.settled = map[string]bool{corev1.LabelHostname: true}
	for _, key := range slices.Concat(api.WellKnownLabels(), c.snapshot.WellKnownLabels) {
		in.settled[key] = true
	}
	for key := range in.Spec.Template.Labels {
		in.settled[key] = true
	}
	for i := range in.types {
		known := c.labelsOf(&in.types[i])
		for key := range known.own {
			in.settled[key] = true
		}
		for _, offering := range known.offering {
			for key := range offering {
				in.settled[key] = true
			}
		}
	}
	return in.settled
}

// valuesOf returns the values that a pod's node selector and node affinity name for a label.
func (f *nodeFilter) valuesOf(key string) []string {
	var values []string
	if value, ok := f.selector[key]; ok {
		values = append(values, value)
	}
	if f.affinity != nil {
		for _, term := range f.affinity.NodeSelectorTerms {
			for _, e := range term.MatchExpressions {
				if e.Key == key {
					values = append(values, e.Values...)
				}
			}
		}
	}
	return values
}

// hasTopologyTerm reports whether the pod has spread or affinity over a label. Then the pool's
// values are the domains, and no other value may be invented.
func (p *pod) hasTopologyTerm(key string) bool {
	return slices.ContainsFunc(slices.Concat(p.affinity, p.anti), func(t podTerm) bool { return t.key == key }) ||
		slices.ContainsFunc(p.spread, func(s spreadConstraint) bool { return s.key == key })
}

// reachableDomains returns the values of a topology key that a new node for the pod could have,
// each with such a node. limited counts only nodes that the pools' limits leave room for.
func (c *checker) reachableDomains(p *pod, key string, limited bool) map[string]*host {
	question := reachKey{key, limited}
	if known, ok := p.reachable[question]; ok {
		return known
	}
	values := map[string]*host{}
	for _, name := range slices.Sorted(maps.Keys(c.pools)) {
		in := c.pools[name]
		left := c.left(in)
		c.newNodes(p, in, func(v *variant, h *host) bool {
			if value, ok := v.labels.get(key); ok && values[value] == nil &&
				(!limited || c.hasRoom(left, v)) {
				values[value] = h
			}
			return true
		})
	}
	if p.reachable == nil {
		p.reachable = map[reachKey]map[string]*host{}
	}
	p.reachable[question] = values
	return values
}

// reachKey identifies a result of reachableDomains.
type reachKey struct {
	key     string
	limited bool
}

package plantest

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// checkLeftOut reports each pod without a place that a node could hold as things are after the
// plan: one that exists, one of the plan, or a new one. Whatever is open is decided for the
// planner.
func (c *checker) checkLeftOut() {
	known := map[string]string{}
	for i := range c.plan.Unplaced {
		u := &c.plan.Unplaced[i]
		p := c.waiting[u.Pod.String()]
		if p == nil {
			continue
		}
		c.checkReasons(u)
		if p.volumes.problem != "" {
			continue
		}
		like := likeness(p)
		where, ok := known[like]
		if !ok {
			where = c.placeFor(p)
			known[like] = where
		}
		if where != "" {
			c.report("left out", "%s, although %s could hold it; the plan says: %s", p.name, where, firstReason(u))
		}
	}
}

// likeness is the same for pods that could go to the same places.
func likeness(p *pod) string {
	if len(p.object.Spec.Volumes) > 0 {
		return p.name
	}
	text, err := json.Marshal(struct {
		Namespace string
		Labels    map[string]string
		Spec      *corev1.PodSpec
	}{p.object.Namespace, p.object.Labels, &p.object.Spec})
	if err != nil {
		return p.name
	}
	return string(text)
}

func firstReason(u *plan.Unplaced) string {
	if len(u.Reasons) == 0 {
		return "nothing"
	}
	return u.Reasons[0].String()
}

// checkReasons: a pod that is left out gets a reason for each pool that opens nodes, or one that no
// pool causes.
func (c *checker) checkReasons(u *plan.Unplaced) {
	named := map[string]bool{}
	for _, reason := range u.Reasons {
		named[reason.NodePool] = true
		if reason.Message == "" {
			c.report("reasons", "%s has an empty reason", u.Pod)
		}
	}
	if len(u.Reasons) == 0 {
		c.report("reasons", "%s has none", u.Pod)
		return
	}
	for name, p := range c.pools {
		if p.open && !named[name] && !named[""] {
			c.report("reasons", "%s has none for pool %s", u.Pod, name)
		}
	}
}

// placeFor names a node that could hold the pod, or nothing.
func (c *checker) placeFor(p *pod) string {
	for _, h := range c.hosts {
		if h.leaving {
			continue
		}
		if h.planned == nil && c.couldTake(h, p) || h.planned != nil && c.plannedCouldTake(h, p) {
			return h.name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.pools)) {
		if where := c.newNodeFor(p, c.pools[name]); where != "" {
			return where
		}
	}
	return ""
}

// couldTake reports whether an existing node could hold one more pod.
func (c *checker) couldTake(h *host, p *pod) bool {
	if class, _ := refusedFor(p, h, false); class != "" {
		return false
	}
	with := *h
	with.placed = append(slices.Clone(h.placed), p)
	return len(c.overfull(&with)) == 0 && c.acceptable(p, h)
}

// plannedCouldTake reports whether a node of the plan could hold one more pod whatever its launch
// turns out as. A pod that is counted by domain ties the node to the domain that it is expected in,
// and then enough types must be left for minValues.
func (c *checker) plannedCouldTake(h *host, p *pod) bool {
	if class, _ := refusedFor(p, h, false); class != "" || len(h.planned.variants) == 0 {
		return false
	}
	with := *h
	with.placed = append(slices.Clone(h.placed), p)
	sum := amounts{}
	for _, q := range with.placed {
		sum.add(q.requests)
	}
	for i := range h.planned.variants {
		if len(c.variantFaults(&with, &h.planned.variants[i], sum)) > 0 {
			return false
		}
	}
	return c.acceptable(p, h) && c.staysFlexible(p, h)
}

// staysFlexible reports whether a node of the plan would meet its pool's minValues if the domains
// that matter to the pod were settled.
func (c *checker) staysFlexible(p *pod, h *host) bool {
	if c.snapshot.MinValuesPolicy == plan.MinValuesBestEffort || h.planned.pool == nil || h.planned.expected == nil {
		return true
	}
	values := valueCount{}
	for i := range h.planned.variants {
		if v := &h.planned.variants[i]; p.sameDomains(v, h.planned.expected) {
			values.add(h.planned.pool, v)
		}
	}
	return values.enough(h.planned.pool)
}

// acceptable reports whether the pod may join h for the sake of all others, under every reading.
func (c *checker) acceptable(p *pod, h *host) bool {
	for _, r := range []reading{{false}, {true}} {
		v := c.viewOf(r, true)
		v.beyondLimits = true
		if !slices.Contains(v.hosts, h) {
			v.hosts = append(v.hosts, h)
		}
		for _, other := range v.hosts {
			for _, q := range other.placed {
				v.bound = append(v.bound, binding{q, other})
			}
		}
		if c.refusal(v, p, h) != "" {
			return false
		}
	}
	return true
}

// newNodeFor names a new node of the pool that the limits leave room for and that could hold the
// pod.
func (c *checker) newNodeFor(p *pod, in *pool) string {
	left := c.left(in)
	found := ""
	c.newNodes(p, in, func(v *variant, h *host) bool {
		if !roomFor(left, c.labelsOf(v.instanceType).capacity) || !c.acceptable(p, h) {
			return true
		}
		if id := v.offering.ReservationID; id != "" && c.expectedReservations()[id] >= c.reserved(id) {
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

// newNodes calls f, until it says no, with every new node of the pool that could hold the pod if it
// were alone.
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
	for _, chosen := range c.choices(p, in) {
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
				if len(c.overfull(&with)) == 0 && !f(&v, h) {
					return
				}
			}
		}
	}
}

// valueBeside is a value that meets a requirement which lists none.
func valueBeside(r *api.NodeSelectorRequirementWithMinValues) string {
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

// chosenLayer is where in the labels of a new node those are that choices settles.
const chosenLayer = 3

// choices are the ways to settle the labels that the pool's requirements demand and that neither
// its template nor its instance types settle. Values that the pod speaks of come first.
func (c *checker) choices(p *pod, in *pool) []map[string]string {
	given := maps.Clone(c.given(in))
	result := []map[string]string{{}}
	for _, r := range in.Spec.Template.Spec.Requirements {
		if given[r.Key] || r.Operator == corev1.NodeSelectorOpDoesNotExist {
			continue
		}
		given[r.Key] = true
		candidates := r.Values
		switch {
		case r.Operator == corev1.NodeSelectorOpNotIn:
			// A node gets such a label if a pod asks for it, and has none otherwise.
			candidates = append(p.filter.valuesOf(r.Key), "")
		case r.Operator != corev1.NodeSelectorOpIn:
			candidates = p.filter.valuesOf(r.Key)
			if !p.minds(r.Key) {
				candidates = append(candidates, valueBeside(&r))
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

// minds reports whether the pod has affinity to pods, or spread, over a label. What domains there
// are is then for the pool to say.
func (p *pod) minds(key string) bool {
	return slices.ContainsFunc(slices.Concat(p.affinity, p.anti), func(t podTerm) bool { return t.key == key }) ||
		slices.ContainsFunc(p.spread, func(s spreadConstraint) bool { return s.key == key })
}

// given are the labels that a pool's template, its instance types and every node have, and those
// that only they can have.
func (c *checker) given(in *pool) map[string]bool {
	if in.given != nil {
		return in.given
	}
	in.given = map[string]bool{corev1.LabelHostname: true}
	for _, key := range slices.Concat(api.WellKnownLabels(), c.snapshot.WellKnownLabels) {
		in.given[key] = true
	}
	for key := range in.Spec.Template.Labels {
		in.given[key] = true
	}
	for i := range in.types {
		known := c.labelsOf(&in.types[i])
		for key := range known.own {
			in.given[key] = true
		}
		for _, offering := range known.offering {
			for key := range offering {
				in.given[key] = true
			}
		}
	}
	return in.given
}

// valuesOf are the values that a pod's node selector and affinity name for a label.
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

// enoughValues reports whether the types that could hold the pod alone, bought as v is and in the
// same domains of the pod's affinity and spread, have as many values of each label as the pool
// demands. Types that the pool's limits leave no room for do not count: a claim takes as much of
// the limits as the greatest of its types, so Karpenter takes them away before it looks at
// minValues.
func (c *checker) enoughValues(p *pod, in *pool, v *variant) bool {
	left := c.left(in)
	values := valueCount{}
	c.newNodes(p, in, func(other *variant, _ *host) bool {
		if other.offering.Zone == v.offering.Zone && other.offering.CapacityType == v.offering.CapacityType &&
			other.offering.ReservationID == v.offering.ReservationID &&
			maps.Equal(other.labels[chosenLayer], v.labels[chosenLayer]) && p.sameDomains(other, v) &&
			roomFor(left, c.labelsOf(other.instanceType).capacity) {
			values.add(in, other)
		}
		return true
	})
	return values.enough(in)
}

// sameDomains reports whether two variants are in the same domain of everything that the pod has
// affinity or spread over. A launch that is free to choose between domains is none that the pod can
// be counted in, so Karpenter settles them when it places the pod, and minValues has to hold for
// what is left.
func (p *pod) sameDomains(a, b *variant) bool {
	same := func(key string) bool {
		here, ok := a.labels.get(key)
		there, has := b.labels.get(key)
		return ok == has && here == there
	}
	return !slices.ContainsFunc(slices.Concat(p.affinity, p.anti), func(t podTerm) bool { return !same(t.key) }) &&
		!slices.ContainsFunc(p.spread, func(s spreadConstraint) bool { return !same(s.key) })
}

// valueCount are the values of each label that has minValues.
type valueCount map[string]map[string]bool

func (n valueCount) add(in *pool, v *variant) {
	for _, r := range in.Spec.Template.Spec.Requirements {
		if value, ok := v.labels.get(r.Key); ok && r.MinValues != nil {
			if n[r.Key] == nil {
				n[r.Key] = map[string]bool{}
			}
			n[r.Key][value] = true
		}
	}
}

func (n valueCount) enough(in *pool) bool {
	return !slices.ContainsFunc(in.Spec.Template.Spec.Requirements, func(r api.NodeSelectorRequirementWithMinValues) bool {
		return r.MinValues != nil && len(n[r.Key]) < *r.MinValues
	})
}

// reach is the values of a topology key that a new node for the pod could have: within what the
// limits leave, or whatever they are. With each comes such a node.
func (c *checker) reach(p *pod, key string, limited bool) map[string]*host {
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
				(!limited || roomFor(left, c.labelsOf(v.instanceType).capacity)) {
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

// reachKey tells the questions that reach has answered apart.
type reachKey struct {
	key     string
	limited bool
}

package plantest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// tries is how many random orders of binding are tried before a plan counts as impossible to bind.
const tries = 30

// checkTopology reports a plan whose pods the scheduler cannot bind in any order. It repeats the
// check with each planned node in the other domains that its claim allows.
func (c *checker) checkTopology() {
	class, stuck := c.bindable()
	if class != "" {
		c.report(class, "no order binds all pods: %s", strings.Join(stuck, "; "))
		return
	}
	for _, h := range c.hosts[len(c.snapshot.Nodes):] {
		c.checkOtherDomains(h)
	}
}

// bindable returns a class of fault and the pods that the scheduler cannot bind, or nothing. The
// class is spread-opened if the pods can be bound as long as no other new node exists.
func (c *checker) bindable() (string, []string) {
	var first []string
	for i, r := range []reading{{false}, {true}} {
		stuck := c.unbindable(c.viewOf(r, true))
		if len(stuck) == 0 {
			return "", nil
		}
		if i == 0 {
			first = stuck
		}
	}
	for _, r := range []reading{{false}, {true}} {
		if len(c.unbindable(c.viewOf(r, false))) == 0 {
			return "spread-opened", first
		}
	}
	return "topology", first
}

// unbindable binds the placed pods in several orders. It returns the pods that remain in the best
// order.
func (c *checker) unbindable(v *view) []string {
	var waiting []binding
	for _, h := range v.hosts {
		for _, p := range h.placed {
			waiting = append(waiting, binding{p, h})
		}
	}
	// A pod spread by other pods comes first, because the domains are level before those pods come.
	// Pods with spread or affinity come second, because other pods can mostly follow at any time.
	picky := func(b binding) int {
		switch {
		case slices.ContainsFunc(b.pod.spread, func(s spreadConstraint) bool { return !s.selector.Matches(b.pod.labels) }):
			return 0
		case len(b.pod.affinity)+len(b.pod.anti)+len(b.pod.spread) > 0:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(waiting, func(a, b binding) int { return picky(a) - picky(b) })
	stuck := c.bindInOrder(v, waiting)
	random := rand.New(rand.NewPCG(1, uint64(len(waiting))))
	for try := 0; try < tries && len(stuck) > 0; try++ {
		if try == 0 {
			slices.Reverse(waiting)
		} else {
			random.Shuffle(len(waiting), func(i, j int) { waiting[i], waiting[j] = waiting[j], waiting[i] })
		}
		if again := c.bindInOrder(v, waiting); len(again) < len(stuck) {
			stuck = again
		}
	}
	slices.Sort(stuck)
	return stuck
}

// bindInOrder repeatedly binds the first pod of the list that can be bound. It explains why the
// remaining pods cannot.
func (c *checker) bindInOrder(v *view, waiting []binding) []string {
	state := &view{hosts: v.hosts, bound: slices.Clone(v.bound), opened: v.opened}
	waiting = slices.Clone(waiting)
	for len(waiting) > 0 {
		at := slices.IndexFunc(waiting, func(b binding) bool { return c.refusal(state, b.pod, b.host) == "" })
		if at < 0 {
			break
		}
		state.bound = append(state.bound, waiting[at])
		waiting = slices.Delete(waiting, at, at+1)
	}
	var stuck []string
	for _, b := range waiting {
		stuck = append(stuck, fmt.Sprintf("%s on %s (%s)", b.pod.name, b.host.name, c.refusal(state, b.pod, b.host)))
	}
	return stuck
}

// checkOtherDomains reports a launch that may choose a domain in which the scheduler cannot bind
// the pods.
func (c *checker) checkOtherDomains(h *host) {
	keys := c.topologyKeysOf(h)
	if len(keys) == 0 || h.planned.expected == nil {
		return
	}
	domainsOf := func(l labelSet) string {
		text := ""
		for _, key := range keys {
			value, ok := l.get(key)
			text += fmt.Sprintf("%s=%s/%v ", key, value, ok)
		}
		return text
	}
	expected := h.labels
	defer func() { h.labels = expected }()
	seen := map[string]bool{domainsOf(expected): true}
	for i := range h.planned.variants {
		v := &h.planned.variants[i]
		if domains := domainsOf(v.labels); seen[domains] {
			continue
		} else {
			seen[domains] = true
		}
		h.labels = v.labels
		if class, stuck := c.bindable(); class != "" {
			c.report(
				"open-"+class,
				"%s is expected to be %s and may become %s, and then: %s",
				h.name,
				h.planned.expected,
				v,
				strings.Join(stuck, "; "),
			)
			return
		}
	}
}

// topologyKeysOf returns the topology keys of spread and affinity that concern a node's pods,
// except the hostname. The pods have these terms, or terms of other pods select them.
func (c *checker) topologyKeysOf(h *host) []string {
	var keys []string
	add := func(key string) {
		if key != corev1.LabelHostname && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, other := range c.hosts {
		for _, q := range slices.Concat(other.staying, other.placed) {
			for _, p := range h.placed {
				for _, t := range slices.Concat(q.affinity, q.anti) {
					if p == q || t.matches(p) {
						add(t.key)
					}
				}
				for _, s := range q.spread {
					if p == q || s.selector.Matches(p.labels) && p.object.Namespace == q.object.Namespace {
						add(s.key)
					}
				}
			}
		}
	}
	return keys
}

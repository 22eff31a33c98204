package plantest

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// view is a state of the cluster in which the scheduler binds a pod: its nodes, and the pods bound
// to them.
type view struct {
	hosts []*host
	bound []binding
	// opened lets a pod on a planned node be spread over the domains of other new nodes too, not
	// only over those that have nodes. It does not concern hostnames.
	opened bool
	// beyondLimits does the same for pods on existing nodes, for hostnames and for domains that the
	// pools' limits leave no room in.
	beyondLimits bool
}

type binding struct {
	pod  *pod
	host *host
}

// reading decides what depends on the moment. doubtful counts leaving nodes with their pods, and
// pods that are ending. A plan is wrong only if it is wrong under both readings. A pod is left out
// wrongly only if a node could take it under both.
type reading struct{ doubtful bool }

func (c *checker) viewOf(r reading, opened bool) *view {
	v := &view{opened: opened}
	for _, h := range c.hosts {
		if h.leaving && !r.doubtful {
			continue
		}
		v.hosts = append(v.hosts, h)
		for _, p := range h.staying {
			if !p.ending || r.doubtful {
				v.bound = append(v.bound, binding{p, h})
			}
		}
	}
	return v
}

// refusal returns why spread or affinity keeps p off h, or nothing. The pods of daemon sets that h
// still awaits are there before p. Those that other nodes await do not count: the planner does not
// say in which zones they will be.
func (c *checker) refusal(v *view, p *pod, h *host) string {
	beside := view{bound: slices.Clip(v.bound)}
	for _, d := range c.pendingDaemons(h) {
		beside.bound = append(beside.bound, binding{d.pod, h})
	}
	if why := affinityRefusal(&beside, p, h); why != "" {
		return why
	}
	if why := antiAffinityRefusal(&beside, p, h); why != "" {
		return why
	}
	for i := range p.spread {
		if why := c.spreadRefusal(v, p, h, &p.spread[i]); why != "" {
			return why
		}
	}
	return ""
}

// affinityRefusal returns why required affinity keeps p off h, or nothing. For each term, h's
// domain must hold a pod that matches all terms. The first pod that matches its own terms may go
// anywhere as long as no other pod matches them.
func affinityRefusal(v *view, p *pod, h *host) string {
	if len(p.affinity) == 0 {
		return ""
	}
	matchesAll := func(q *pod) bool {
		return !slices.ContainsFunc(p.affinity, func(t podTerm) bool { return !t.matches(q) })
	}
	found := make([]bool, len(p.affinity))
	any := false
	for _, b := range v.bound {
		if !matchesAll(b.pod) {
			continue
		}
		for i := range p.affinity {
			if value, ok := b.host.labels.get(p.affinity[i].key); ok {
				any = true
				here, has := h.labels.get(p.affinity[i].key)
				found[i] = found[i] || has && here == value
			}
		}
	}
	for i := range p.affinity {
		key := p.affinity[i].key
		here, ok := h.labels.get(key)
		if !ok {
			return "affinity: the node has no label " + key
		}
		if !found[i] && (any || !matchesAll(p)) {
			return fmt.Sprintf("affinity: no pod of the kind is in %s %s", key, here)
		}
	}
	return ""
}

// antiAffinityRefusal returns why required anti-affinity keeps p off h, or nothing. It looks at p's
// terms, and at the terms of the bound pods that select p.
func antiAffinityRefusal(v *view, p *pod, h *host) string {
	same := func(key string, other *host) bool {
		here, ok := h.labels.get(key)
		there, has := other.labels.get(key)
		return ok && has && here == there
	}
	for _, b := range v.bound {
		for i := range p.anti {
			if t := &p.anti[i]; t.matches(b.pod) && same(t.key, b.host) {
				return fmt.Sprintf("anti-affinity: %s is in the same %s, on %s", b.pod.name, t.key, b.host.name)
			}
		}
		for i := range b.pod.anti {
			if t := &b.pod.anti[i]; t.matches(p) && same(t.key, b.host) {
				return fmt.Sprintf("anti-affinity: %s on %s wants it out of its %s", b.pod.name, b.host.name, t.key)
			}
		}
	}
	return ""
}

// spreadRefusal says why a spread constraint keeps p off h, or nothing. With p the node's domain may
// have at most maxSkew more matching pods than the domain that has fewest. While there are fewer
// domains than minDomains, the fewest count as zero.
func (c *checker) spreadRefusal(v *view, p *pod, h *host, s *spreadConstraint) string {
	here, ok := h.labels.get(s.key)
	if !ok {
		return "spread: the node has no label " + s.key
	}
	counts := domainCounts(v, p, s)
	domains := len(counts)
	if v.beyondLimits || v.opened && h.planned != nil && s.key != corev1.LabelHostname {
		c.addReachableDomains(counts, v, p, s)
	}
	least, where := fewest(counts)
	if domains < s.minDomains {
		least, where = 0, "fewer domains than minDomains"
	}
	after := counts[here]
	if s.selector.Matches(p.labels) {
		after++
	}
	if after-least > s.maxSkew {
		return fmt.Sprintf("spread: %s %s would have %d pods, the least have %d (%s), maxSkew is %d",
			s.key, here, after, least, where, s.maxSkew)
	}
	return ""
}

// addReachableDomains adds the domains that a new node for p could be in, with no pods. A domain
// that other pods keep p out of does not count, unless the view is beyond limits. Then a domain counts
// too that a planned node is in with some of its variants.
func (c *checker) addReachableDomains(counts map[string]int, v *view, p *pod, s *spreadConstraint) {
	for value, node := range c.reachableDomains(p, s.key, !v.beyondLimits) {
		if _, ok := counts[value]; ok {
			continue
		}
		if v.beyondLimits || affinityRefusal(v, p, node) == "" && antiAffinityRefusal(v, p, node) == "" {
			counts[value] = 0
		}
	}
	for _, h := range v.hosts {
		if !v.beyondLimits || h.planned == nil {
			continue
		}
		for i := range h.planned.variants {
			if value, ok := h.planned.variants[i].labels.get(s.key); ok {
				counts[value] += 0
			}
		}
	}
}

// fewest returns the least count and the first domain that has it, or zero if there is no domain.
func fewest(counts map[string]int) (least int, where string) {
	for i, value := range slices.Sorted(maps.Keys(counts)) {
		if n := counts[value]; i == 0 || n < least {
			least, where = n, value
		}
	}
	return least, where
}

// domainCounts counts the pods that match a spread constraint of p in each domain. Pods of other
// namespaces and ending pods do not count.
func domainCounts(v *view, p *pod, s *spreadConstraint) map[string]int {
	counts := map[string]int{}
	counted := map[*host]string{}
	for _, h := range v.hosts {
		if !countsForSpread(p, s, h) {
			continue
		}
		value, _ := h.labels.get(s.key)
		counted[h] = value
		counts[value] += 0
	}
	for _, b := range v.bound {
		if value, ok := counted[b.host]; ok && !b.pod.ending && b.pod.object.Namespace == p.object.Namespace &&
			s.selector.Matches(b.pod.labels) {
			counts[value]++
		}
	}
	return counts
}

// countsForSpread reports whether a node counts for a spread constraint of p. It must have the
// labels of all constraints of p. The constraint's policies may demand that p's node filter matches
// and that p tolerates its taints.
func countsForSpread(p *pod, s *spreadConstraint, h *host) bool {
	for i := range p.spread {
		if _, ok := h.labels.get(p.spread[i].key); !ok {
			return false
		}
	}
	name := h.name
	if h.planned != nil {
		name = ""
	}
	if s.honorAffinity && !p.filter.matches(h.labels, name) {
		return false
	}
	if s.honorTaints {
		if _, kept := untolerated(h.taints, p.object.Spec.Tolerations, true); kept {
			return false
		}
	}
	return true
}

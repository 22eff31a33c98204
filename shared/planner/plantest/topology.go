package plantest

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// view is a state of the cluster in which a pod is to be bound: which nodes there are, and which
// pods they hold.
type view struct {
	hosts []*host
	bound []binding
	// opened says that a pod which goes to a new node must be spread over the domains that a new node
	// could be in too, not only over those that have nodes.
	opened bool
	// beyondLimits says that a pod must be so spread wherever it goes, over hosts too, and over what a
	// new node could be in if no pool had limits.
	beyondLimits bool
}

type binding struct {
	pod  *pod
	host *host
}

// reading settles what depends on the moment: whether nodes that go away, pods that are ending or
// on such nodes, and claims that no instance stands for, count. A plan is wrong only if it is so
// under both readings, and a pod is left out wrongly only if a node could take it under both.
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

// refusal says why the scheduler would not bind p to h for the sake of other pods, or nothing.
func (c *checker) refusal(v *view, p *pod, h *host) string {
	if why := affinityRefusal(v, p, h); why != "" {
		return why
	}
	if why := antiAffinityRefusal(v, p, h); why != "" {
		return why
	}
	for i := range p.spread {
		if why := c.spreadRefusal(v, p, h, &p.spread[i]); why != "" {
			return why
		}
	}
	return ""
}

// affinityRefusal: for each required term the node's domain holds a pod that matches all terms. The
// first pod of a group that asks for its own kind may go anywhere as long as there is none of the
// kind.
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

// antiAffinityRefusal: no pod in the node's domain matches one of p's terms, and none there has a
// term that p matches.
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
// that other pods keep p out of does not count, unless the view is beyond limits.
func (c *checker) addReachableDomains(counts map[string]int, v *view, p *pod, s *spreadConstraint) {
	for value, node := range c.reach(p, s.key, !v.beyondLimits) {
		if _, ok := counts[value]; ok {
			continue
		}
		if v.beyondLimits || affinityRefusal(v, p, node) == "" && antiAffinityRefusal(v, p, node) == "" {
			counts[value] = 0
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

// domainCounts is how many matching pods of p's namespace each domain has that counts for p: those
// of nodes that have the labels of all p's constraints, that p's node selector and affinity allow
// (unless nodeAffinityPolicy is Ignore), and whose taints p tolerates (if nodeTaintsPolicy is
// Honor).
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

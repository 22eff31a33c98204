package plantest

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
)

// checkLeftOut reports each pod without a place that a node could still hold after the plan. That
// may be an existing node, a planned node or a new one. Where Kubernetes leaves a question open,
// the answer favours the planner.
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
		like := placementKey(p)
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

// placementKey returns a text that is equal for pods that could go to the same places.
func placementKey(p *pod) string {
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

// checkReasons reports an unplaced pod without reasons. A pod needs a reason for each open pool, or
// one reason that concerns no pool.
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

// placeFor names a node that could hold the pod, or returns nothing.
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
	return len(c.overfull(&with)) == 0 && c.othersAllow(p, h)
}

// plannedCouldTake reports whether every variant of a planned node could hold one more pod. A pod
// with spread or affinity binds the node to its expected domain. The types that remain must then
// still satisfy minValues.
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
	return c.othersAllow(p, h) && c.staysFlexible(p, h)
}

// othersAllow reports whether spread and affinity of all pods let the pod join h, under every
// reading.
func (c *checker) othersAllow(p *pod, h *host) bool {
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

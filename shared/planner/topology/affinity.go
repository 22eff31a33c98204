package topology

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// KeepAway narrows a part to the domains that no anti-affinity forbids: the group's own, or that of
// other pods. It also returns the requirements that do so.
func (t *Topology) KeepAway(g *workload.Group, whole Part) (Part, scheduling.Requirements) {
	forbidden := map[string][]string{}
	for _, r := range t.counts.repulsions {
		if r.count > 0 && r.MatchesClass(t.work.Classes, g.Class) {
			forbidden[r.key] = append(forbidden[r.key], r.value)
		}
	}
	for i := range g.Topology.AntiAffinity {
		term := &g.Topology.AntiAffinity[i]
		if term.Key == corev1.LabelHostname {
			continue
		}
		for value, n := range t.CountsOf(term.PodSelector, term.Key) {
			if n > 0 {
				forbidden[term.Key] = append(forbidden[term.Key], value)
			}
		}
	}
	if len(forbidden) == 0 {
		return whole, nil
	}
	away := scheduling.Requirements{}
	for _, key := range dense.SortedKeys(forbidden) {
		r := scheduling.NotIn(key, forbidden[key]...)
		away.Add(r)
		whole = whole.Narrow(r)
	}
	return whole, away
}

// followAffinity binds a part to the domains of the pods that an affinity term selects.
func (t *Topology) followAffinity(g *workload.Group, whole Part, term *workload.AffinityTerm) []Part {
	counts := t.CountsOf(term.PodSelector, term.Key)
	selectsItself := term.MatchesClass(t.work.Classes, g.Class)
	if term.Key == corev1.LabelHostname {
		if AnyPositive(counts) || !selectsItself || t.HasDemand(term.PodSelector) {
			whole.Follows = append(slices.Clone(whole.Follows), term.PodSelector)
			return []Part{whole}
		}
		return t.shareNode(g, whole, term)
	}
	var values []string
	for value, n := range counts {
		if n > 0 {
			values = append(values, value)
		}
	}
	if len(values) > 0 {
		narrowed := whole.Narrow(scheduling.In(term.Key, values...))
		if narrowed.Alternatives == nil {
			t.leave(g, whole, fmt.Sprintf("%s wants pods that run in %s, "+
				"which its node selector, affinity and volumes leave out", term.Field, scheduling.In(term.Key, values...)))
			return nil
		}
		return []Part{narrowed}
	}
	if !selectsItself {
		t.leave(g, whole, fmt.Sprintf("%s wants pods %s in the same %q, and none is running there yet: "+
			"start one, or correct the term's labelSelector and namespaces", term.Field, term.Selector, term.Key))
		return nil
	}
	// The group's first pod opens a domain, and the others follow it.
	domains := t.Domains(g, whole, term.Key)
	if len(domains) == 0 {
		return t.noDomain(g, whole, term.Field, term.Key)
	}
	return []Part{whole.BindTo(term.Key, cheapestFor(domains, len(whole.Units)))}
}

func (t *Topology) leave(g *workload.Group, part Part, reason string) {
	t.state.AddLeftover(g, placement.Flatten(part.Units), reason)
}

// HasDemand reports whether any selected pod is among the demands' counted pods.
func (t *Topology) HasDemand(selector *workload.PodSelector) bool {
	return slices.ContainsFunc(t.state.Demands, func(d *placement.Demand) bool {
		return d.Counted > 0 && selector.MatchesClass(t.work.Classes, d.Group.Class)
	})
}

// noDomain handles a part that no domain of the key can take. Mostly something else keeps it from
// all nodes. Then the part goes on, so that the explanation finds that. Otherwise no pool says which
// values the key can have.
func (t *Topology) noDomain(g *workload.Group, whole Part, field, key string) []Part {
	known := whole.Narrow(scheduling.Exists(key))
	offerings, _ := t.offers.OfferingsFor(g, known.Alternatives, g.Need)
	if offerings.Empty() && known.Alternatives != nil {
		return []Part{known}
	}
	t.leave(g, whole, fmt.Sprintf("%s is over %q, and no node pool lists the values that it can have: "+
		"add a requirement with operator In to one", field, key))
	return nil
}

// shareNode makes one unit of pods that have to share a node. Pods for which the largest node has no
// room become leftovers.
func (t *Topology) shareNode(g *workload.Group, whole Part, term *workload.AffinityTerm) []Part {
	pods := placement.Flatten(whole.Units)
	largest := min(t.largestRoom(g, whole, int64(len(pods))), t.mostOnHost(g))
	if largest > 0 && largest < int64(len(pods)) {
		t.state.AddLeftover(g, pods[largest:], fmt.Sprintf(
			"%s wants its pods on one node, and the largest has room for %d of the %d that wait",
			term.Field, largest, len(pods)))
		pods = pods[:largest]
	}
	whole.Units = [][]*corev1.Pod{pods}
	return []Part{whole}
}

// largestRoom is how many of the group's pods the largest node has room for, at most limit.
func (t *Topology) largestRoom(g *workload.Group, whole Part, limit int64) int64 {
	largest := int64(0)
	feasible, _ := t.offers.OfferingsFor(g, whole.Alternatives, g.Need)
	for j := range feasible.All() {
		largest = max(largest, t.offers.PoolTypeOf(j).Free.Room(g.Need, limit))
	}
	for _, e := range t.state.Existing {
		if n := e.Free.Room(g.Need, limit); n > largest && t.state.Accepts(e, g, whole.Alternatives) {
			largest = n
		}
	}
	return largest
}

// mostOnHost is how many of the group's pods its own constraints over hosts allow on a node.
func (t *Topology) mostOnHost(g *workload.Group) int64 {
	most := int64(math.MaxInt64)
	alone := func(term workload.AffinityTerm) bool {
		return term.Key == corev1.LabelHostname && term.MatchesClass(t.work.Classes, g.Class)
	}
	if workload.PortsClash(g.Ports, g.Ports) || slices.ContainsFunc(g.Topology.AntiAffinity, alone) {
		most = 1
	}
	for i := range g.Topology.Spread {
		if term := &g.Topology.Spread[i]; term.Key == corev1.LabelHostname && term.MatchesClass(t.work.Classes, g.Class) {
			most = min(most, int64(term.MaxSkew))
		}
	}
	return most
}

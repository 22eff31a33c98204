package topology

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// levelPriceFactor is how much dearer than the cheapest domain another one may be, for pods that
// use it only to keep the spreads of others level.
const levelPriceFactor = 1.1

// bindForOthers binds a part to domains of the key if a constraint of any group counts its pods.
// For spreads the pods go to all domains evenly, and otherwise to few domains.
func (t *Topology) bindForOthers(g *workload.Group, whole Part, key string) []Part {
	if _, ok := whole.Alternatives.SingleValue(key); ok {
		return []Part{whole}
	}
	counted, spread := t.countedBy(g, key)
	own := slices.ContainsFunc(g.Topology.AntiAffinity, func(term workload.AffinityTerm) bool { return term.Key == key })
	if counted == nil && !own {
		return []Part{whole}
	}
	var parts []Part
	if !own {
		if parts = t.takeUnlabelled(g, &whole, key); len(whole.Units) == 0 {
			return parts
		}
	}
	domains := t.Domains(g, whole, key)
	switch {
	case len(domains) == 0:
		return append(parts, t.withoutDomain(g, whole, key, own))
	case spread == nil:
		return append(parts, whole.Narrow(scheduling.In(key, cheapestFor(domains, len(whole.Units)))))
	}
	cheapest := math.Inf(1)
	for _, domain := range domains {
		cheapest = min(cheapest, domain.price)
	}
	domains = slices.DeleteFunc(domains, func(d Domain) bool {
		return d.room <= 0 && d.price > cheapest*levelPriceFactor
	})
	counts := maps.Clone(t.CountsOf(spread.PodSelector, key))
	always := func(string, int) bool { return true }
	return append(parts, t.level(whole, key, domains, counts, always, nil)...)
}

// takeUnlabelled takes the units off the part that can go to nodes without the label, where no
// constraint counts them. If new nodes can be without it, that is all of them.
func (t *Topology) takeUnlabelled(g *workload.Group, whole *Part, key string) []Part {
	without := whole.Narrow(scheduling.DoesNotExist(key))
	if without.Alternatives != nil && t.offers.HasOfferingFor(g, without.Alternatives, g.Need) {
		whole.Units = nil
		return []Part{without}
	}
	n := min(t.roomWithoutLabel(g, without, key), len(whole.Units))
	if n <= 0 {
		return nil
	}
	without.Units, whole.Units = whole.Units[:n], whole.Units[n:]
	return []Part{without}
}

// withoutDomain handles a part for which no domain of the key is known.
func (t *Topology) withoutDomain(g *workload.Group, whole Part, key string, own bool) Part {
	if further := t.NewDomains(whole, key); len(further) > 0 {
		return further[0]
	}
	// On nodes without the label nothing counts as too near.
	if without := whole.Narrow(scheduling.DoesNotExist(key)); own && without.Alternatives != nil {
		if offerings, _ := t.offers.OfferingsFor(g, without.Alternatives, g.Need); !offerings.Empty() {
			return without
		}
	}
	return whole
}

// roomWithoutLabel is how many of a part's units fit on existing nodes without the label.
func (t *Topology) roomWithoutLabel(g *workload.Group, part Part, key string) int {
	if part.Alternatives == nil {
		return 0
	}
	room := 0
	for _, e := range t.state.Existing {
		if room >= len(part.Units) {
			break
		}
		if _, ok := e.Domain(key); ok || e.Nominated != nil {
			continue
		}
		n := int(e.Free.Room(g.Need, int64(len(part.Units))))
		if n > 0 && t.state.Accepts(e, g, part.Alternatives) {
			room += n
		}
	}
	return min(room, len(part.Units))
}

// countedQuestion is a question to countedBy.
type countedQuestion struct {
	key   string
	class int
}

type countedAnswer struct{ counted, spread *countedTerm }

// countedBy returns a constraint over the key that counts the group's pods, and the first spread
// among those. Each may be nil.
func (t *Topology) countedBy(g *workload.Group, key string) (counted, spread *countedTerm) {
	question := countedQuestion{key: key, class: g.Class}
	if known, ok := t.memo.counted[question]; ok {
		return known.counted, known.spread
	}
	for _, name := range dense.SortedKeys(t.terms) {
		term := t.terms[name]
		if term.key != key || term.until < t.state.Round || !term.MatchesClass(t.work.Classes, g.Class) {
			continue
		}
		counted = term
		if term.spread && spread == nil {
			spread = term
		}
	}
	t.memo.counted[question] = countedAnswer{counted, spread}
	return counted, spread
}

// HostSlack is how many pods of the group's spreads over hosts every counted host has at least.
// Kubernetes measures the skew from that number.
func (t *Topology) HostSlack(g *workload.Group) int {
	slack := math.MaxInt
	for i := range g.Topology.Spread {
		term := &g.Topology.Spread[i]
		if term.Key != corev1.LabelHostname {
			continue
		}
		least, hosts := t.leastOnHost(g, term)
		if hosts < term.MinDomains || hosts == 0 {
			return 0
		}
		slack = min(slack, least)
	}
	if slack == math.MaxInt {
		return 0
	}
	return slack
}

// leastOnHost is the least number of the spread's pods on a host that it counts, and how many such
// hosts there are.
func (t *Topology) leastOnHost(g *workload.Group, term *workload.SpreadTerm) (least, hosts int) {
	least = math.MaxInt
	filter := t.filterOf(g, term)
	count := func(pods int) {
		hosts++
		least = min(least, pods)
	}
	for _, e := range t.state.Existing {
		if t.countsHost(e, g, term) {
			count(t.state.PodsOnExisting(e, term.PodSelector))
		}
	}
	for i := range t.work.Snapshot.Nodes {
		// The scheduler measures by a leaving node until it is gone.
		node := &t.work.Snapshot.Nodes[i]
		if node.Node != nil && node.ClosedToPods() && (filter == nil || filter.counts(node)) {
			count(t.work.RunningOn(i, term.PodSelector))
		}
	}
	for _, n := range t.state.Planned {
		if filter.countsPlanned(t.state, n) {
			count(t.state.IndependentPodsOn(n, term.PodSelector))
		}
	}
	return least, hosts
}

// countsHost reports whether the spread counts an existing node, which may still be starting.
func (t *Topology) countsHost(e *placement.ExistingNode, g *workload.Group, term *workload.SpreadTerm) bool {
	if !term.IgnoreAffinity && !slices.ContainsFunc(g.Required.List(), e.MayMeet) {
		return false
	}
	return !term.HonorTaints || scheduling.ToleratesAll(e.Taints, g.Tolerations)
}

package topology

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// Topology divides pod groups among domains, and measures their constraints.
type Topology struct {
	work   *workload.Workload
	offers *offering.Index
	state  *placement.State
	counts *counts
	memo   *memo
	// keys are the topology keys of the constraints divided so far, except the host name, sorted.
	keys []string
	// terms are those constraints by key and pod selector.
	terms map[string]*countedTerm
	// places are the nodes of each demand's units while violations are looked for, by demand.
	places [][]Place
	// placed says that nodes are packed. Uncertain demands then count where their units are. Before,
	// all their pods count.
	placed bool
}

// countedTerm is a constraint that counts pods.
type countedTerm struct {
	*workload.PodSelector
	key string
	// spread says that one of the constraints with this key and selector is a spread.
	spread bool
	// until is the last round in which the constraint holds: that of its pods, for a preference.
	until int
}

// memo remembers answers that depend only on the snapshot and on the constraints divided so far.
type memo struct {
	running map[string]map[string][]int
	nodes   map[string][]domainNodes
	filters map[string]*nodeFilter
	fixed   map[string][]string
	bound   map[boundQuestion]map[string]string
	counted map[countedQuestion]countedAnswer
	// skews are the spreads of each pod group as they were last measured.
	skews map[*workload.Group][]*Skew
}

// New returns the topology of a snapshot's nodes, with the required anti-affinity of the pods that
// run on them.
func New(work *workload.Workload, offers *offering.Index, state *placement.State) *Topology {
	t := &Topology{
		work: work, offers: offers, state: state, terms: map[string]*countedTerm{},
		counts: &counts{counters: map[string]*counter{}, repulsions: map[string]*repulsion{}},
		memo: &memo{
			running: map[string]map[string][]int{}, nodes: map[string][]domainNodes{}, filters: map[string]*nodeFilter{},
			fixed: map[string][]string{}, bound: map[boundQuestion]map[string]string{},
			counted: map[countedQuestion]countedAnswer{}, skews: map[*workload.Group][]*Skew{},
		},
	}
	if work.Classes.Any {
		t.readRepulsions()
	}
	return t
}

// readRepulsions reads the required anti-affinity of the pods that run.
func (t *Topology) readRepulsions() {
	const field = "spec.affinity.podAntiAffinity"
	for i := range t.work.Snapshot.Nodes {
		node := &t.work.Snapshot.Nodes[i]
		for j := range node.Pods {
			pod := &node.Pods[j]
			affinity := pod.Spec.Affinity
			if affinity == nil || affinity.PodAntiAffinity == nil || !t.work.CountsInDomain(pod) {
				continue
			}
			required := affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
			terms, err := t.work.ReadAffinity(pod, required, nil, field)
			if err != nil {
				continue // The scheduler could not have bound the pod by such a term.
			}
			for _, term := range terms {
				if value, ok := node.Domain(term.Key); ok && term.Key != corev1.LabelHostname {
					t.counts.repel(term.PodSelector, term.Key, value, 1)
				}
			}
		}
	}
}

// Expect notes the required constraints of groups that are divided later. So the pods that they count are bound
// when they are divided themselves. A preference does not bind pods that come before its own.
func (t *Topology) Expect(groups []*workload.Group) {
	for _, g := range groups {
		if g.Problem != "" {
			continue
		}
		for i := range g.Topology.Spread {
			if term := &g.Topology.Spread[i]; !term.Preferred {
				t.addTerm(term.PodSelector, term.Key, true, false)
			}
		}
		for _, terms := range [][]workload.AffinityTerm{g.Topology.Affinity, g.Topology.AntiAffinity} {
			for i := range terms {
				if !terms[i].Preferred {
					t.addTerm(terms[i].PodSelector, terms[i].Key, false, false)
				}
			}
		}
	}
}

// addTerms notes the constraints of a pod group, so that the pods that they count get bound.
func (t *Topology) addTerms(g *workload.Group) {
	for i := range g.Topology.Spread {
		term := &g.Topology.Spread[i]
		t.addTerm(term.PodSelector, term.Key, true, term.Preferred)
	}
	for i := range g.Topology.Affinity {
		term := &g.Topology.Affinity[i]
		t.addTerm(term.PodSelector, term.Key, false, term.Preferred)
	}
	for i := range g.Topology.AntiAffinity {
		term := &g.Topology.AntiAffinity[i]
		t.addTerm(term.PodSelector, term.Key, false, term.Preferred)
	}
}

func (t *Topology) addTerm(selector *workload.PodSelector, key string, spread, preferred bool) {
	if key == corev1.LabelHostname {
		return
	}
	until := math.MaxInt
	if preferred {
		until = t.state.Round
	}
	name := key + " " + selector.Key()
	term := t.terms[name]
	if term == nil {
		term = &countedTerm{PodSelector: selector, key: key}
		t.terms[name] = term
	}
	term.spread = term.spread || spread
	term.until = max(term.until, until)
	if !slices.Contains(t.keys, key) {
		t.keys = append(t.keys, key)
		slices.Sort(t.keys)
	}
}

// KeysCounting are the topology keys of the constraints that count the group's pods now.
func (t *Topology) KeysCounting(g *workload.Group) []string {
	var keys []string
	for _, term := range t.terms {
		if term.until >= t.state.Round && term.MatchesClass(t.work.Classes, g.Class) {
			keys = append(keys, term.key)
		}
	}
	return keys
}

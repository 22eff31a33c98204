package offering

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// LabelFeasibility are the offerings that labels, taints and host ports allow for a demand. Demands
// that ask for the same share one.
type LabelFeasibility struct {
	// Index numbers the label feasibilities of an Index.
	Index     int
	Offerings dense.Set
	// AnyAlternative are the offerings that any alternative allows, even if new nodes follow another
	// one. The set never changes, and a pointer identifies it. Feasibilities that differ only in the
	// alternative that they follow share it.
	AnyAlternative *dense.Set
	// Resolves is what the demand decides of the pools' open labels. Where a pool has no entry, the
	// demand decides nothing.
	Resolves map[*Pool]scheduling.Requirements
	// choices are the alternatives in each pool where they decide open labels. Each demand then
	// follows the alternatives that are cheapest for its size: see followOne.
	choices [][]poolAlternative
	// followed has the results of followOne, by the alternative followed in each pool.
	followed map[string]*LabelFeasibility
	// largest has, by tier, an offering that is not exotic and had room for an earlier need, or -1. It
	// answers most further questions of hasOrdinary.
	largest []int
}

// poolAlternative is one alternative in one pool.
type poolAlternative struct {
	pool      *Pool
	offerings dense.Set
	resolves  scheduling.Requirements
}

// add adds an alternative in a pool to what is feasible.
func (l *LabelFeasibility) add(c poolAlternative) {
	l.Offerings.Or(c.offerings)
	if c.resolves != nil {
		if l.Resolves == nil {
			l.Resolves = map[*Pool]scheduling.Requirements{}
		}
		l.Resolves[c.pool] = c.resolves
	}
}

// Feasibility are the offerings that can hold a unit of a demand, apart from its size. Demands for
// which the plan may also buy the same offerings share one.
type Feasibility struct {
	*LabelFeasibility
	// Buyable are the offerings that the plan may buy for the demand. They include exotic types only
	// in tiers that have no others with room for a unit.
	Buyable dense.Set
}

// Feasibilities remembers which offerings requirements allow, since many pod groups ask for the
// same. It belongs to one Index.
type Feasibilities struct {
	index *Index
	// allowing has the answers of Allowing, by the requirement's text.
	allowing map[string]dense.Set
	labels   labelAnswers
	// bySize has the feasibilities, by the number of their LabelFeasibility and the tiers with exotic
	// types.
	bySize     map[feasibilityKey]*Feasibility
	poolLabels map[*Pool]*poolLabels
	domains    map[string][]Domain
	attributes attributeSets
	narrowings narrowings
	interned   interned
	mentioned  mentions
	// key is memory for the keys of these maps.
	key []byte
	// ScratchSet and ScratchList are memory for callers, who may overwrite them at any time. The
	// methods of Index use ScratchSet too.
	ScratchSet  dense.Set
	ScratchList []int
}

// labelAnswers has the answers of LabelsFor for demands of any size.
type labelAnswers struct {
	// byTerms serves pods that share a node with any DaemonSet's, and is faster than byText.
	byTerms map[termsKey]*LabelFeasibility
	byText  map[string]*LabelFeasibility
	// count is how many label feasibilities there are.
	count int
}

// feasibilityKey identifies a Feasibility: the number of its LabelFeasibility, and a bit for each
// tier in which the plan may buy exotic types for it.
type feasibilityKey struct{ labels, exoticTiers uint64 }

func newFeasibilities(ix *Index) *Feasibilities {
	return &Feasibilities{
		index:      ix,
		allowing:   map[string]dense.Set{},
		labels:     labelAnswers{byTerms: map[termsKey]*LabelFeasibility{}, byText: map[string]*LabelFeasibility{}},
		bySize:     map[feasibilityKey]*Feasibility{},
		poolLabels: map[*Pool]*poolLabels{},
		domains:    map[string][]Domain{},
		narrowings: narrowings{requirements: dense.NewTable(1), results: map[narrowing]*workload.Alternatives{}},
		interned:   interned{in: map[labelValue]scheduling.Requirement{}, lists: map[string][]string{}},
		ScratchSet: dense.NewSet(len(ix.Offerings)),
	}
}

// FeasibilityFor is the feasibility of units of the group with these alternatives and this need.
func (ix *Index) FeasibilityFor(
	g *workload.Group, alternatives *workload.Alternatives, need resource.Vector,
) *Feasibility {
	l := ix.Feasibilities.LabelsFor(g, alternatives, need)
	var exotic uint64
	for i := range ix.Tiers {
		if !ix.hasOrdinary(l, i, need) {
			exotic |= 1 << min(i, 63)
		}
	}
	key := feasibilityKey{labels: uint64(l.Index), exoticTiers: exotic}
	f, ok := ix.Feasibilities.bySize[key]
	if !ok {
		f = &Feasibility{LabelFeasibility: l, Buyable: l.Offerings.Clone()}
		for i, tier := range ix.Tiers {
			if exotic&(1<<min(i, 63)) == 0 {
				for w := range f.Buyable {
					f.Buyable[w] &^= tier[w] & ix.Exotic[w]
				}
			}
		}
		ix.Feasibilities.bySize[key] = f
	}
	return f
}

// hasOrdinary reports whether a tier has an offering with room for the need that is not exotic.
func (ix *Index) hasOrdinary(l *LabelFeasibility, tier int, need resource.Vector) bool {
	if l.largest == nil {
		l.largest = slices.Repeat([]int{-1}, len(ix.Tiers))
	}
	if j := l.largest[tier]; j >= 0 && ix.PoolTypeOf(j).Free.Fits(need) {
		return true
	}
	set := ix.Feasibilities.ScratchSet
	for w := range set {
		set[w] = l.Offerings[w] & ix.Tiers[tier][w] &^ ix.Exotic[w]
	}
	ix.KeepRoom(set, need)
	if set.Empty() {
		return false
	}
	// The dearest offering is likely to fit later demands, too.
	for j := range set.All() {
		l.largest[tier] = j
	}
	return true
}

// OfferingsFor is the set of offerings that can hold one pod of the group with these alternatives
// and this need. It also returns what the pod decides of the pools' open labels. The set is the
// caller's.
func (ix *Index) OfferingsFor(
	g *workload.Group, alternatives *workload.Alternatives, need resource.Vector,
) (dense.Set, map[*Pool]scheduling.Requirements) {
	l := ix.Feasibilities.LabelsFor(g, alternatives, need)
	feasible := l.Offerings.Clone()
	ix.KeepRoom(feasible, need)
	return feasible, l.Resolves
}

// HasOfferingFor reports whether OfferingsFor returns any offering.
func (ix *Index) HasOfferingFor(g *workload.Group, alternatives *workload.Alternatives, need resource.Vector) bool {
	feasible := ix.Feasibilities.ScratchSet
	copy(feasible, ix.Feasibilities.LabelsFor(g, alternatives, need).Offerings)
	ix.KeepRoom(feasible, need)
	return !feasible.Empty()
}

// KeepFitting removes the pool's offerings from the set whose empty node has no room for the need,
// or whose DaemonSets do not go with the pod group. Of other pools' offerings, it only removes
// those without room.
func (ix *Index) KeepFitting(set dense.Set, pool *Pool, g *workload.Group, need resource.Vector) {
	ix.KeepRoom(set, need)
	ix.keepBesideDaemons(set, pool, g)
}

// RunsDaemonSet reports whether the DaemonSet at this place of the snapshot runs on nodes of the
// pool.
func (ix *Index) RunsDaemonSet(pool *Pool, index int) bool {
	return slices.ContainsFunc(ix.PoolTypes[pool.FirstType:pool.EndType], func(t PoolType) bool {
		return slices.Contains(t.daemonSets, index)
	})
}

// keepBesideDaemons removes the pool's offerings from the set whose DaemonSets use a host port of
// the pod group, keep its pods off by anti-affinity, or are not those that its affinity wants.
func (ix *Index) keepBesideDaemons(set dense.Set, pool *Pool, g *workload.Group) {
	if len(g.Ports) == 0 && g.Beside.IsZero() {
		return
	}
	for i := pool.FirstType; i < pool.EndType; i++ {
		if t := &ix.PoolTypes[i]; workload.PortsClash(g.Ports, t.daemonPorts) || !g.Beside.Allows(t.daemonSets) {
			for _, j := range t.Offerings {
				set.Remove(j)
			}
		}
	}
}

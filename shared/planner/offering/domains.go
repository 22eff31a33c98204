package offering

import (
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Domain is a value of a topology key, with the offerings whose nodes may have it.
type Domain struct {
	Value     string
	Offerings dense.Set
	// Listed says that a pool, instance type or offering names the value. Otherwise any value would
	// do, and the NodeClaim would choose this one.
	Listed bool
}

// Domains are the values of a topology key that new nodes may have, sorted.
func (s *Feasibilities) Domains(key string) []Domain {
	if domains, ok := s.domains[key]; ok {
		return domains
	}
	ix := s.index
	if !s.mentions(key) && !ix.poolsMention(key) {
		s.domains[key] = nil
		return nil
	}
	at := map[string]int{}
	var domains []Domain
	for j := range ix.Offerings {
		if ix.PoolTypeOf(j).Pool.narrows(key) {
			continue // A pod may ask for the value, but no NodePool or type names it as a domain.
		}
		listed := ix.listsValues(j, key)
		for _, value := range ix.ValuesOf(ix.PoolTypeOf(j).Pool, j, key) {
			i, ok := at[value]
			if !ok {
				i = len(domains)
				at[value] = i
				domains = append(domains, Domain{Value: value, Offerings: dense.NewSet(len(ix.Offerings))})
			}
			domains[i].Offerings.Add(j)
			domains[i].Listed = domains[i].Listed || listed
		}
	}
	slices.SortFunc(domains, func(a, b Domain) int { return strings.Compare(a.Value, b.Value) })
	s.domains[key] = domains
	return domains
}

// listsValues reports whether the nodes of offering j can have no other values than those that
// ValuesOf returns.
func (ix *Index) listsValues(j int, key string) bool {
	if IsOfferingKey(key) {
		return true
	}
	for _, of := range [...]scheduling.Requirements{ix.Offerings[j].Source.Requirements,
		ix.PoolTypeOf(j).Type.Requirements, ix.PoolTypeOf(j).Pool.Requirements} {
		if r, ok := of[key]; ok {
			if _, listed := r.Values(); listed {
				return true
			}
		}
	}
	return false
}

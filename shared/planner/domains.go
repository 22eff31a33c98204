package planner

import (
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// columnDomain is a value of a topology key with the columns whose nodes may have it.
type columnDomain struct {
	value   string
	columns bitset
	// listed says that some pool, instance type or offering names the value; others are what a claim settles on where any value will do.
	listed bool
}

// domainsOf are the values of a key that new nodes may have, sorted: those that column or pool list. It is worked out once for each key.
func (s *columnSets) domainsOf(key string) []columnDomain {
	if domains, ok := s.domains[key]; ok {
		return domains
	}
	p := s.problem
	at := map[string]int{}
	var domains []columnDomain
	for j := range p.columns {
		listed := p.lists(j, key)
		for _, value := range p.valuesOf(p.configOf(j).pool, j, key) {
			i, ok := at[value]
			if !ok {
				i = len(domains)
				at[value] = i
				domains = append(domains, columnDomain{value: value, columns: newBitset(len(p.columns))})
			}
			domains[i].columns.add(j)
			domains[i].listed = domains[i].listed || listed
		}
	}
	slices.SortFunc(domains, func(a, b columnDomain) int { return strings.Compare(a.value, b.value) })
	s.domains[key] = domains
	return domains
}

// lists reports whether the values that problem.valuesOf gives for a column are all that its nodes can have.
func (p *offerings) lists(j int, key string) bool {
	if isOfferingKey(key) {
		return true
	}
	for _, of := range [...]scheduling.Requirements{p.columns[j].offering.Requirements, p.configOf(j).typ.Requirements, p.configOf(j).pool.requirements} {
		if r, ok := of[key]; ok {
			if _, listed := r.Values(); listed {
				return true
			}
		}
	}
	return false
}

package plan

import (
	"slices"
	"strings"
)

// columnDomain is a value of a topology key with the columns whose nodes may have it.
type columnDomain struct {
	value   string
	columns bitset
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
		for _, value := range p.valuesOf(p.configOf(j).pool, j, key) {
			i, ok := at[value]
			if !ok {
				i = len(domains)
				at[value] = i
				domains = append(domains, columnDomain{value: value, columns: newBitset(len(p.columns))})
			}
			domains[i].columns.add(j)
		}
	}
	slices.SortFunc(domains, func(a, b columnDomain) int { return strings.Compare(a.value, b.value) })
	s.domains[key] = domains
	return domains
}

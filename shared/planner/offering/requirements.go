package offering

import (
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Allowing is the set of offerings that the requirement allows, by their instance type and their
// own labels. It includes the types that do not mention the key: their pool decides whether it
// allows them. Callers must not change the set.
func (s *Feasibilities) Allowing(r scheduling.Requirement) dense.Set {
	s.key = workload.AppendRequirement(s.key[:0], r)
	if set, ok := s.allowing[string(s.key)]; ok {
		return set
	}
	text := string(s.key)
	if !IsOfferingKey(r.Key()) {
		s.allowing[text] = s.allowingTypes(r)
		return s.allowing[text]
	}
	set := dense.NewSet(len(s.index.Offerings))
	only := catalog.ReadOfferingRequirements(scheduling.Requirements{r.Key(): r})
	for j := range s.index.Offerings {
		if only.Allow(s.index.Offerings[j].Source) {
			set.Add(j)
		}
	}
	s.allowing[text] = set
	return set
}

// Meeting is the set of the pool's offerings that meet the requirements, and what the requirements
// decide of the pool's open labels. The set is nil if the pool's template cannot meet them. The set
// is the caller's.
func (s *Feasibilities) Meeting(pool *Pool, requirements scheduling.Requirements) (dense.Set, scheduling.Requirements) {
	if !pool.Requirements.IsCompatible(requirements, s.index.Undefined) {
		return nil, nil
	}
	set := pool.Offerings.Clone()
	var open scheduling.Requirements
	for key, r := range requirements {
		set.And(s.Allowing(r))
		if s.leavesOpen(pool, key, r) {
			if open == nil {
				open = scheduling.Requirements{}
			}
			open.Add(r)
			if have, ok := pool.Requirements[key]; ok {
				open.Add(have)
			}
		}
	}
	return set, open
}

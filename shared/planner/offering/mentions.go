package offering

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// mentions knows which label keys the offerings mention. Pods may ask for thousands of labels of
// which the offerings know none, and for thousands of values of one label.
type mentions struct {
	// keys are all that an instance type or an offering has a requirement on.
	keys map[string]bool
	// all are all offerings, and special those with requirements of their own.
	all     dense.Set
	special []int
	// types has, by key, the pool types with equal requirements on it.
	types map[string][]equalTypes
}

// equalTypes are pool types with the same requirement on a key.
type equalTypes struct {
	have      scheduling.Requirement
	poolTypes []int
}

// readKeys fills in the keys and the sets of offerings.
func (s *Feasibilities) readKeys() {
	ix := s.index
	m := &s.mentioned
	m.keys, m.types, m.all = map[string]bool{}, map[string][]equalTypes{}, dense.NewSet(len(ix.Offerings))
	for i := range ix.PoolTypes {
		for key := range ix.PoolTypes[i].Type.Requirements {
			m.keys[key] = true
		}
	}
	for j := range ix.Offerings {
		m.all.Add(j)
		if own := ix.Offerings[j].Source.Requirements; len(own) > 0 {
			m.special = append(m.special, j)
			for key := range own {
				m.keys[key] = true
			}
		}
	}
}

// mentions reports whether an instance type or an offering says anything of the label.
func (s *Feasibilities) mentions(key string) bool {
	if s.mentioned.keys == nil {
		s.readKeys()
	}
	return s.mentioned.keys[key] || IsOfferingKey(key) || key == api.LabelCapacityReservationID
}

// equalTypes are the pool types that have a requirement on the key, by that requirement.
func (s *Feasibilities) equalTypes(key string) []equalTypes {
	if known, ok := s.mentioned.types[key]; ok {
		return known
	}
	var list []equalTypes
	at := map[string]int{}
	for i := range s.index.PoolTypes {
		have, ok := s.index.PoolTypes[i].Type.Requirements[key]
		if !ok {
			continue
		}
		text := string(workload.AppendRequirement(nil, have))
		n, ok := at[text]
		if !ok {
			n = len(list)
			at[text] = n
			list = append(list, equalTypes{have: have})
		}
		list[n].poolTypes = append(list[n].poolTypes, i)
	}
	s.mentioned.types[key] = list
	return list
}

// allowingTypes is Allowing for a label that the offering does not decide, before the answer is known.
func (s *Feasibilities) allowingTypes(r scheduling.Requirement) dense.Set {
	if !s.mentions(r.Key()) {
		return s.mentioned.all
	}
	set := s.mentioned.all.Clone()
	for _, equal := range s.equalTypes(r.Key()) {
		if equal.have.Intersects(r) {
			continue
		}
		for _, i := range equal.poolTypes {
			for _, j := range s.index.PoolTypes[i].Offerings {
				set.Remove(j)
			}
		}
	}
	only := catalog.ReadOfferingRequirements(scheduling.Requirements{r.Key(): r})
	for _, j := range s.mentioned.special {
		if !only.Allow(s.index.Offerings[j].Source) {
			set.Remove(j)
		}
	}
	return set
}

// poolsMention reports whether a NodePool has a requirement on the label.
func (ix *Index) poolsMention(key string) bool {
	return slices.ContainsFunc(ix.Pools, func(pool *Pool) bool {
		_, ok := pool.Requirements[key]
		return ok
	})
}

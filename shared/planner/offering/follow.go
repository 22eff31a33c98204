package offering

import (
	"math"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"
)

// FollowsOneAlternative reports whether new nodes for the pods follow one of the alternatives: see
// followOne.
func (s *Feasibilities) FollowsOneAlternative(g *workload.Group, alternatives *workload.Alternatives) bool {
	return alternatives.Len() >= 2 && s.labelsOf(g, alternatives).choices != nil
}

// followOne chooses an alternative in each pool where alternatives decide open labels. A node gets
// one value of an open label, so it can follow only one such alternative. The choice is the one on
// whose nodes units of this need cost least, with at most so many units on a node.
func (s *Feasibilities) followOne(l *LabelFeasibility, need resource.Vector, most int) *LabelFeasibility {
	var key []byte
	chosen := make([][]poolAlternative, len(l.choices))
	for i, choices := range l.choices {
		best := s.cheapestAlternative(choices, need, most)
		if best >= 0 && choices[best].resolves != nil {
			chosen[i] = choices[best : best+1]
		} else if best >= 0 {
			// Alternatives that decide nothing go together.
			for _, c := range choices {
				if c.resolves == nil {
					chosen[i] = append(chosen[i], c)
				}
			}
		}
		key = append(key, byte(best+1))
	}
	if result, ok := l.followed[string(key)]; ok {
		return result
	}
	result := s.newLabels(l.AnyAlternative, l.Offerings.Clone())
	for pool, open := range l.Resolves {
		result.add(poolAlternative{pool: pool, offerings: dense.NewSet(len(s.index.Offerings)), resolves: open})
	}
	for _, choices := range chosen {
		for _, c := range choices {
			result.add(c)
		}
	}
	if l.followed == nil {
		l.followed = map[string]*LabelFeasibility{}
	}
	l.followed[string(key)] = result
	return result
}

// cheapestAlternative is the position of the alternative on whose nodes units of the need cost
// least, or -1 if no node has room. Alternatives without exotic types come first.
func (s *Feasibilities) cheapestAlternative(choices []poolAlternative, need resource.Vector, most int) int {
	best, bestExotic, bestPrice := -1, false, 0.0
	for at, c := range choices {
		set := c.offerings.Clone()
		s.index.KeepRoom(set, need)
		if set.Empty() {
			continue
		}
		ordinary := set.Clone()
		ordinary.Without(s.index.Exotic)
		exotic := ordinary.Empty()
		if !exotic {
			set = ordinary
		}
		price := s.index.pricePerUnit(set, need, most)
		if best < 0 || bestExotic && !exotic || bestExotic == exotic && price < bestPrice {
			best, bestExotic, bestPrice = at, exotic, price
		}
	}
	return best
}

// pricePerUnit is the least cost of a node of the set for each unit of this need on it, in US
// dollars an hour. A node has at most so many units. It is infinite if no node has room.
func (ix *Index) pricePerUnit(offerings dense.Set, need resource.Vector, most int) float64 {
	best := math.Inf(1)
	for j := range offerings.All() {
		price := ix.Cost(j)
		// All further offerings cost at least as much.
		if price/float64(most) >= best {
			break
		}
		if room := ix.PoolTypeOf(j).Free.Room(need, int64(most)); room > 0 {
			best = min(best, price/float64(room))
		}
	}
	return best
}

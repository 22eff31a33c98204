package offering

import (
	"iter"
	"slices"

	"github.com/whittle-dev/whittle/shared/plan"
)

// BestEffortMinValues reports whether the plan lowers minValues that it cannot meet.
func (ix *Index) BestEffortMinValues() bool {
	return ix.Work.Snapshot.MinValuesPolicy == plan.MinValuesBestEffort
}

// StrictMinValues reports whether nodes of the pool must meet minValues.
func (ix *Index) StrictMinValues(pool *Pool) bool {
	return len(pool.MinValues) > 0 && !ix.BestEffortMinValues()
}

// SharesLimitsWithMinValues reports whether nodes of the pool take of a limit of which nodes take that
// must meet minValues, of this pool or of another.
func (ix *Index) SharesLimitsWithMinValues(pool *Pool) bool {
	return slices.ContainsFunc(pool.limits, func(i int) bool { return ix.Limits[i].strict })
}

// MeetsMinValues reports whether the offerings have enough values of each key of the pool's
// minValues. It reads the offerings only as far as it needs.
func (ix *Index) MeetsMinValues(pool *Pool, offerings iter.Seq[int]) bool {
	if len(pool.MinValues) == 0 {
		return true
	}
	missing := len(pool.MinValues)
	values := map[string]map[string]bool{}
	for j := range offerings {
		for key, least := range pool.MinValues {
			if len(values[key]) >= least {
				continue
			}
			if values[key] == nil {
				values[key] = map[string]bool{}
			}
			for _, value := range ix.ValuesOf(pool, j, key) {
				values[key][value] = true
			}
			if len(values[key]) >= least {
				missing--
			}
		}
		if missing == 0 {
			return true
		}
	}
	return false
}

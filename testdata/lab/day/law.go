package day

import (
	"fmt"
	"maps"
	"slices"
)

// inARow is the most instances that a workload may buy one after the other without use.
const inARow = 3

// unserved reports whether an instance ended without having been of use.
func (i *Instance) unserved() bool { return !i.Ended.IsZero() && !i.Served && !i.Replaces }

// Waste is what a workload bought in vain.
type Waste struct {
	Workload string
	// Instances counts those that ended without use, and Row the most one after the other.
	Instances, Row int
}

// Wasted returns the workloads that bought instances in vain, by name. An instance that still boots
// at the end of the day counts for nothing.
func Wasted(r *Record) []Waste {
	found, rows := map[string]*Waste{}, map[string]int{}
	for _, i := range slices.SortedFunc(slices.Values(r.Instances), func(a, b Instance) int {
		return a.Launched.Compare(b.Launched)
	}) {
		for _, workload := range i.For {
			switch {
			case i.Served:
				rows[workload] = 0
			case i.unserved():
				if found[workload] == nil {
					found[workload] = &Waste{Workload: workload}
				}
				rows[workload]++
				found[workload].Instances++
				found[workload].Row = max(found[workload].Row, rows[workload])
			}
		}
	}
	var all []Waste
	for _, workload := range slices.Sorted(maps.Keys(found)) {
		all = append(all, *found[workload])
	}
	return all
}

// CheckLaw returns an error if a workload bought too many instances in a row without use.
func CheckLaw(wasted []Waste) error {
	for _, waste := range wasted {
		if waste.Row > inARow {
			return fmt.Errorf("workload %q bought %d instances in a row that never ran a pod, of at most %d: "+
				"read provision's log for the plans of its pods", waste.Workload, waste.Row, inARow)
		}
	}
	return nil
}

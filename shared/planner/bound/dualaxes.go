package bound

import (
	"cmp"
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/placement"
)

// maxSlots is how many slots the program counts at most. Fewer make its bound weaker, not wrong.
const maxSlots = 8

// scaling is how the program measures needs. Its axes are the resources that the units need, then
// the slots. A node has one of each slot.
type scaling struct {
	// Axes are the resources, by their position in a resource vector.
	Axes []int
	// slotAxes are the axes of slots, by the slot's group.
	slotAxes map[int]int
	// Scale is the amount of each axis that counts as one.
	Scale []float64
	// needs are the scaled needs of the units, one after the other.
	needs []float64
}

// Width is the number of axes.
func (s *scaling) Width() int { return len(s.Axes) + len(s.slotAxes) }

// NeedOf is the scaled need of one of the units at this position.
func (s *scaling) NeedOf(n int) []float64 {
	return s.needs[n*s.Width() : (n+1)*s.Width()]
}

// readAxes chooses the axes and scales the needs.
func (d *Dual) readAxes() {
	nodes := map[int]float64{}
	used := make([]bool, len(d.index.Work.Axes.Names))
	for i := range d.units {
		u := &d.units[i]
		for r, amount := range u.Need {
			used[r] = used[r] || amount > 0 && u.Count > 0
		}
		for _, s := range u.Slots {
			nodes[s.Limit] += float64(float64(u.Count) * s.Share)
		}
	}
	for r := range used {
		if used[r] {
			d.Axes = append(d.Axes, r)
		}
	}
	d.readSlotAxes(nodes)
	d.readScale()
	width := d.Width()
	d.needs = make([]float64, len(d.units)*width)
	for i := range d.units {
		d.readNeed(d.needs[i*width:(i+1)*width], &d.units[i])
	}
}

// readSlotAxes makes axes of the slots that demand the most nodes.
func (d *Dual) readSlotAxes(nodes map[int]float64) {
	d.slotAxes = map[int]int{}
	groups := make([]int, 0, len(nodes))
	for group := range nodes {
		groups = append(groups, group)
	}
	slices.SortFunc(groups, func(a, b int) int {
		return cmp.Or(-cmp.Compare(nodes[a], nodes[b]), cmp.Compare(a, b))
	})
	for i, group := range groups[:min(len(groups), maxSlots)] {
		d.slotAxes[group] = len(d.Axes) + i
	}
}

// readScale measures each resource in what a pool type has of it on average. That makes weights
// about as great as prices.
func (d *Dual) readScale() {
	d.Scale = make([]float64, d.Width())
	for a := range d.Scale {
		d.Scale[a] = 1
		if a >= len(d.Axes) {
			continue
		}
		sum, count := 0.0, 0
		for i := range d.index.PoolTypes {
			if free := d.index.PoolTypes[i].Free[d.Axes[a]]; free > 0 {
				sum += float64(free)
				count++
			}
		}
		d.Scale[a] = max(sum/float64(max(count, 1)), 1)
	}
}

// readNeed fills in the scaled need of one unit.
func (d *Dual) readNeed(need []float64, u *Units) {
	for a, r := range d.Axes {
		need[a] = float64(max(u.Need[r], 0)) / d.Scale[a]
	}
	for _, s := range u.Slots {
		if a, ok := d.slotAxes[s.Limit]; ok {
			need[a] += s.Share
		}
	}
}

// slotKey identifies the axes of a list of slots.
func (s *scaling) slotKey(key []byte, slots []placement.Slot) []byte {
	for _, slot := range slots {
		key = append(key, byte(s.slotAxes[slot.Limit]))
	}
	return key
}

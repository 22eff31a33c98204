package ec2

import (
	"cmp"
	"math"
	"slices"
)

// offer is one override of a fleet in one subnet: a way to get an instance.
type offer struct {
	launch   launch
	shown    templateAndOverrides
	priority float64
	maxPrice float64 // 0 is no bound
	// reserved offers fit into a capacity reservation, in a fleet that uses those first.
	reserved bool
	// dead offers have failed in this fleet; code and message say why.
	dead          bool
	code, message string
	instanceIDs   []string
}

func isStrategy(capacityType, strategy string) bool {
	known := []string{"", "lowest-price", "prioritized"}
	if capacityType == Spot {
		known = []string{
			"", "lowest-price", "capacity-optimized", "capacity-optimized-prioritized", "price-capacity-optimized",
		}
	}
	return slices.Contains(known, strategy)
}

// best returns the offer that a strategy tries next, nil when none is left. Ties go to the first in
// the request, so that the same request in the same world always gets the same instances.
func (c *capacity) best(offers []*offer, strategy string) *offer {
	var chosen *offer
	for _, o := range offers {
		if !o.dead && (chosen == nil || c.compare(o, chosen, strategy) < 0) {
			chosen = o
		}
	}
	return chosen
}

func (c *capacity) compare(a, b *offer, strategy string) int {
	if a.reserved != b.reserved {
		if a.reserved {
			return -1
		}
		return 1
	}
	byPrice := func() int { return cmp.Compare(a.launch.price(), b.launch.price()) }
	switch strategy {
	case "prioritized":
		return cmp.Or(cmp.Compare(a.priority, b.priority), byPrice())
	case "price-capacity-optimized":
		// The price counts up to double where a pool is nearly empty. EC2 first looks for the pools
		// that are least likely to be interrupted, then for the lowest price among them. It does
		// not publish more.
		return cmp.Compare(a.launch.price()*(2-c.room(a.launch.pool())), b.launch.price()*(2-c.room(b.launch.pool())))
	case "capacity-optimized":
		return cmp.Or(cmp.Compare(c.room(b.launch.pool()), c.room(a.launch.pool())), byPrice())
	case "capacity-optimized-prioritized":
		// Capacity first, priorities on a best-effort basis: pools within the same quarter are alike.
		quarter := func(o *offer) float64 { return math.Floor(c.room(o.launch.pool()) * 4) }
		return cmp.Or(cmp.Compare(quarter(b), quarter(a)), cmp.Compare(a.priority, b.priority), byPrice())
	default: // lowest-price, EC2's default for both
		return byPrice()
	}
}

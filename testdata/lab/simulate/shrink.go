package simulate

import "maps"

// mostTries bounds the simulations of one shrinking.
const mostTries = 120

// Shrink takes faults and pods away from a simulation that violates an invariant, while it still violates
// one. Run is Simulate in a bubble of its own. It returns the smallest simulation that it has found.
//
// A fault that is left out changes everything after it, so that others may come in its place. They count
// as well: the result has fewer faults than what it came from, whichever they are.
func Shrink(options Options, run func(Options) Result) (Options, Result) {
	best := run(options)
	if len(best.Violations) == 0 {
		return options, best
	}
	tries := 0
	attempt := func(changed Options) bool {
		tries++
		result := run(changed)
		if len(result.Violations) == 0 || len(result.Faults) > len(best.Faults) {
			return false
		}
		options, best = changed, result
		return true
	}
	quiet := options
	quiet.Calm = true
	if attempt(quiet) {
		return options, best
	}
	for _, pods := range []int{4, 8, 16} {
		fewer := options
		fewer.Pods = pods
		if attempt(fewer) {
			break
		}
	}
	for size := (len(best.Faults) + 1) / 2; size > 0 && tries < mostTries; {
		removed := false
		for from := 0; from < len(best.Faults) && tries < mostTries; {
			before := len(best.Faults)
			without := options
			without.Skip = with(options.Skip, best.Faults[from:min(from+size, len(best.Faults))])
			if attempt(without) && len(best.Faults) < before {
				removed = true
			} else {
				from += size
			}
		}
		if size == 1 && !removed {
			break
		}
		size = max(min(size/2, len(best.Faults)/2), min(1, size-1))
	}
	return options, best
}

// with is a set with more members.
func with(set map[string]bool, more []string) map[string]bool {
	all := maps.Clone(set)
	if all == nil {
		all = map[string]bool{}
	}
	for _, member := range more {
		all[member] = true
	}
	return all
}

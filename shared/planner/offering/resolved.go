package offering

import (
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// ResolvedLabels is what the demands on a node decide of its pool's open labels. Nodes on which the
// same is decided share one, which never changes; nil is nothing.
type ResolvedLabels struct {
	requirements scheduling.Requirements
}

// resolution is a demand's, on top of what is decided already.
type resolution struct {
	before *ResolvedLabels
	class  *LabelFeasibility
	pool   *Pool
}

// Labels are the requirements; nil without any.
func (l *ResolvedLabels) Labels() scheduling.Requirements {
	if l == nil {
		return nil
	}
	return l.requirements
}

// resolved is the one value for both.
func (ix *Index) resolved(before, decides scheduling.Requirements) *ResolvedLabels {
	both := scheduling.Requirements{}
	both.Merge(before)
	both.Merge(decides)
	var key []byte
	for _, name := range both.Keys() {
		key = workload.AppendRequirement(key, both[name])
	}
	if same, ok := ix.resolvedByKey[string(key)]; ok {
		return same
	}
	if ix.resolvedByKey == nil {
		ix.resolvedByKey = map[string]*ResolvedLabels{}
	}
	made := &ResolvedLabels{requirements: both}
	ix.resolvedByKey[string(key)] = made
	return made
}

// Resolve is what is decided of the open labels of the node's pool once a unit of the class is on
// it, and false if that leaves no value for a label. It is worked out once for all nodes.
func (ix *Index) Resolve(before *ResolvedLabels, j int, c *Feasibility) (*ResolvedLabels, bool) {
	if c.Resolves == nil {
		return before, true
	}
	pool := ix.PoolTypeOf(j).Pool
	decides := c.Resolves[pool]
	if decides == nil {
		return before, true
	}
	of := resolution{before: before, class: c.LabelFeasibility, pool: pool}
	after, known := ix.resolutions[of]
	if !known {
		if Compatible(before.Labels(), decides) {
			after = ix.resolved(before.Labels(), decides)
		}
		if ix.resolutions == nil {
			ix.resolutions = map[resolution]*ResolvedLabels{}
		}
		ix.resolutions[of] = after
	}
	return after, after != nil
}

// Compatible reports whether both leave a value for each label.
func Compatible(a, b scheduling.Requirements) bool {
	for key, r := range b {
		if have, ok := a[key]; ok && have.Intersection(r).Empty() {
			return false
		}
	}
	return true
}

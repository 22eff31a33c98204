package offering

import (
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// ResolvedLabels is what the demands on a node decide of its pool's open labels. It never changes,
// and nodes with equal resolved labels share one. Nil decides nothing.
type ResolvedLabels struct {
	requirements scheduling.Requirements
}

// Labels are the requirements on open labels. It is nil if there are none.
func (l *ResolvedLabels) Labels() scheduling.Requirements {
	if l == nil {
		return nil
	}
	return l.requirements
}

// resolver remembers the answers of Resolve.
type resolver struct {
	answers map[resolution]*ResolvedLabels
	// byText has one value for all equal ones.
	byText map[string]*ResolvedLabels
}

// resolution identifies a question to Resolve: a demand comes to a node with resolved labels.
type resolution struct {
	before *ResolvedLabels
	demand *LabelFeasibility
	pool   *Pool
}

// Resolve returns the resolved labels of a node of offering j once a unit of the feasibility is on
// it. It returns false if no value of a label would be left.
func (ix *Index) Resolve(before *ResolvedLabels, j int, f *Feasibility) (*ResolvedLabels, bool) {
	if f.Resolves == nil {
		return before, true
	}
	pool := ix.PoolTypeOf(j).Pool
	decides := f.Resolves[pool]
	if decides == nil {
		return before, true
	}
	question := resolution{before: before, demand: f.LabelFeasibility, pool: pool}
	after, known := ix.resolver.answers[question]
	if !known {
		if Compatible(before.Labels(), decides) {
			after = ix.resolver.merged(before.Labels(), decides)
		}
		if ix.resolver.answers == nil {
			ix.resolver.answers = map[resolution]*ResolvedLabels{}
		}
		ix.resolver.answers[question] = after
	}
	return after, after != nil
}

// merged has the requirements of both.
func (r *resolver) merged(before, decides scheduling.Requirements) *ResolvedLabels {
	both := scheduling.Requirements{}
	both.Merge(before)
	both.Merge(decides)
	var key []byte
	for _, name := range both.Keys() {
		key = workload.AppendRequirement(key, both[name])
	}
	if same, ok := r.byText[string(key)]; ok {
		return same
	}
	if r.byText == nil {
		r.byText = map[string]*ResolvedLabels{}
	}
	made := &ResolvedLabels{requirements: both}
	r.byText[string(key)] = made
	return made
}

// Compatible reports whether a node can meet both requirements: each label that both mention has a
// value, or its absence, that both allow.
func Compatible(a, b scheduling.Requirements) bool {
	for key, r := range b {
		if have, ok := a[key]; ok && have.Intersection(r).Empty() {
			return false
		}
	}
	return true
}

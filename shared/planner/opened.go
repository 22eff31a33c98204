package planner

import "github.com/whittle-dev/whittle/shared/scheduling"

// opened is what the demands on a node decide of its pool's open labels. Nodes on which the same is decided share one, which never changes; nil is nothing.
type opened struct {
	requirements scheduling.Requirements
}

// decision is a demand's, on top of what is decided already.
type decision struct {
	before *opened
	class  *labelled
	pool   *pool
}

// labels are the requirements; nil without any.
func (o *opened) labels() scheduling.Requirements {
	if o == nil {
		return nil
	}
	return o.requirements
}

// opened is the one value for both.
func (p *offerings) opened(before, decides scheduling.Requirements) *opened {
	both := scheduling.Requirements{}
	both.Merge(before)
	both.Merge(decides)
	var key []byte
	for _, name := range both.Keys() {
		key = appendRequirement(key, both[name])
	}
	if same, ok := p.openedBy[string(key)]; ok {
		return same
	}
	if p.openedBy == nil {
		p.openedBy = map[string]*opened{}
	}
	made := &opened{requirements: both}
	p.openedBy[string(key)] = made
	return made
}

// decide is what is decided of the open labels of the node's pool once a unit of the class is on it, and false if that leaves no value for a label. It is worked out once for
// all nodes.
func (p *offerings) decide(before *opened, j int, c *class) (*opened, bool) {
	if c.open == nil {
		return before, true
	}
	pool := p.configOf(j).pool
	decides := c.open[pool]
	if decides == nil {
		return before, true
	}
	of := decision{before: before, class: c.labelled, pool: pool}
	after, known := p.decisions[of]
	if !known {
		if intersect(before.labels(), decides) {
			after = p.opened(before.labels(), decides)
		}
		if p.decisions == nil {
			p.decisions = map[decision]*opened{}
		}
		p.decisions[of] = after
	}
	return after, after != nil
}

// intersect reports whether both leave a value for each label.
func intersect(a, b scheduling.Requirements) bool {
	for key, r := range b {
		if have, ok := a[key]; ok && have.Intersection(r).Empty() {
			return false
		}
	}
	return true
}

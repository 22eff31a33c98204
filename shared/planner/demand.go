package planner

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// demand is a number of equal units that want places: the pods of a shape, or those of them that topology has bound to one domain. A unit is one pod,
// or several that must share a node.
type demand struct {
	shape *shape
	index int
	// units are the pods still without a place on an existing node, in order. They are handed out when the plan is written.
	units [][]*corev1.Pod
	// waiting is how many units still want a place. Whoever gives one a place lowers it.
	waiting int
	// need is that of one unit, which has podsEach pods.
	need     vector
	podsEach int
	// alternatives are the shape's, narrowed to the demand's domain.
	alternatives []scheduling.Requirements
	hosts        hostTerms
	// bound are the topology domains that the alternatives bind it to, by key; counted is how many of its pods count there.
	bound   map[string]string
	counted int
	// round is in which round of placing it was made.
	round int
	// follows are peers of which a node must have one before it can take a unit: only nodes that exist or are planned can.
	follows []*peers
	// slack is how much more than its maxSkew a spread over hosts allows, since every host that counts has so many already.
	slack int

	// class says by which columns nodes can be got for a unit, its size aside.
	class *class
	// conflicts are the demands whose units cannot share a node with one of this; itself among them where two of its own cannot. Nil is none. Demands
	// with the same conflicts share the set.
	conflicts bitset
	// rules bound what else may be on its node, by spreads over hosts; nil without such.
	rules *hostRules
	// repulsion numbers what the demand asks of a node by conflicts and rules, zero for nothing: demands of which it is equal are kept from a node together.
	repulsion int
	// slots are what a unit takes of that of which a node has only so much for constraints over hosts: see bound.go.
	slots []slot
}

// pods is how many pods a unit has.
func (d *demand) pods() int { return d.podsEach }

// finish fills in the demand's class.
func (p *placements) finish(d *demand) { d.class = p.offers.classFor(d.shape, d.alternatives, d.need) }

// holds reports whether a node of the column's can hold a unit.
func (p *placements) holds(column int, d *demand) bool {
	return d.class.columns.has(column) && p.offers.configOf(column).free.fits(d.need)
}

// readHosts brings a node up to date that was planned before further demands were read, whose constraints may speak of what is on it.
func (p *placements) readHosts(n *node) {
	if n.generation == p.generation {
		return
	}
	n.generation = p.generation
	n.counts = n.counts[:0]
	for _, f := range n.fills {
		if d := p.demands[f.demand]; d.rules != nil {
			n.count(d.rules, f.count*d.pods())
		}
	}
}

// readDemands fills in what follows from the demands' pods for those that were added since it was last called.
func (p *placements) readDemands() {
	if p.demandsRead == len(p.demands) {
		return
	}
	for _, d := range p.demands {
		if d.class == nil {
			p.finish(d)
		}
	}
	p.readConflicts()
}

// measured reports whether other pods can make the demand's places wrong.
func (d *demand) measured() bool {
	return len(d.shape.topology.affinity)+len(d.shape.topology.spread)+len(d.follows) > 0
}

type slot struct {
	group int
	part  float64
}

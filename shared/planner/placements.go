package planner

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// placements are what is on which node, and what still waits.
type placements struct {
	work     *workload
	offers   *offerings
	existing []*existing
	demands  []*demand
	// demandMemory and unitMemory are memory for further demands and their units.
	demandMemory []demand
	unitMemory   [][]*corev1.Pod
	// round counts the rounds of placing: each but the first is for pods that have given up a preference.
	round int
	// planned are the new nodes so far.
	planned []*node
	// demandsRead is how many demands readDemands has seen, generation how often it has seen more.
	demandsRead, generation int
	// left are the pods that this round of placing could not place.
	left []leftover
	// values remembers plannedValues, and settled the values of custom labels that claims settle on, as long as the planned nodes stay as they are.
	values  map[string][]string
	settled map[nodeKey]string
}

// newPlacements reads the existing nodes.
func newPlacements(work *workload, offers *offerings) *placements {
	p := &placements{work: work, offers: offers, values: map[string][]string{}, settled: map[nodeKey]string{}}
	p.readExisting()
	p.readNominated()
	return p
}

// replan forgets what is remembered of the planned nodes, which have changed.
func (p *placements) replan() {
	clear(p.values)
	clear(p.settled)
}

// leftover are pods of a shape without a place: for a reason found before nodes were packed, or as a demand that nothing has room for.
type leftover struct {
	shape  *shape
	pods   []*corev1.Pod
	reason string
	demand *demand
}

// leave notes that pods of a shape stay without a place.
func (p *placements) leave(s *shape, pods []*corev1.Pod, reason string) {
	if len(pods) > 0 {
		p.left = append(p.left, leftover{shape: s, pods: pods, reason: reason})
	}
}

// plannedValues are the values that the planned nodes are expected to have of a key, sorted.
func (p *placements) plannedValues(key string) []string {
	if known, ok := p.values[key]; ok {
		return known
	}
	values := map[string]bool{}
	for _, n := range p.planned {
		if value := p.plannedValue(n, key); value != "" {
			values[value] = true
		}
	}
	p.values[key] = sortedKeys(values)
	return p.values[key]
}

// plannedValue is the value that a planned node is expected to have of a key; empty if that is open.
func (p *placements) plannedValue(n *node, key string) string {
	if value, ok := n.open.labels()[key].Single(); ok {
		return value
	}
	if !scheduling.IsWellKnown(key) && !isOfferingKey(key) {
		at := nodeKey{n, key}
		value, known := p.settled[at]
		if !known {
			// The value that the claim is going to settle on: see claim.go.
			if r, asked := p.labelsOf(n)[key]; asked {
				value, _ = p.offers.valueOn(n.column, r)
			}
			p.settled[at] = value
		}
		if value != "" {
			return value
		}
	}
	values := p.offers.valuesOf(p.offers.configOf(n.column).pool, n.column, key)
	if len(values) != 1 {
		return ""
	}
	return values[0]
}

// nodeKey is a label key of a planned node.
type nodeKey struct {
	node *node
	key  string
}

// units is single in memory that is got for many shapes at once.
func (p *placements) units(pods []*corev1.Pod) [][]*corev1.Pod {
	n := len(pods)
	if len(p.unitMemory) < n {
		p.unitMemory = make([][]*corev1.Pod, max(n, 256))
	}
	units := p.unitMemory[:n:n]
	p.unitMemory = p.unitMemory[n:]
	return readUnits(units, pods)
}

func readUnits(units [][]*corev1.Pod, pods []*corev1.Pod) [][]*corev1.Pod {
	for i := range pods {
		units[i] = pods[i : i+1 : i+1]
	}
	return units
}

// single makes a unit of each pod.
func single(pods []*corev1.Pod) [][]*corev1.Pod {
	return readUnits(make([][]*corev1.Pod, len(pods)), pods)
}

func flatten(units [][]*corev1.Pod) []*corev1.Pod { return slices.Concat(units...) }

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// newDemand is memory for a demand.
func (p *placements) newDemand() *demand {
	if len(p.demandMemory) == 0 {
		p.demandMemory = make([]demand, 64)
	}
	d := &p.demandMemory[0]
	p.demandMemory = p.demandMemory[1:]
	return d
}

package placement

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// State are what is on which node, and what still waits.
type State struct {
	Work     *workload.Workload
	Offers   *offering.Index
	Existing []*ExistingNode
	Demands  []*Demand
	// demandMemory and unitMemory are memory for further demands and their units.
	demandMemory []Demand
	unitMemory   [][]*corev1.Pod
	// Round counts the rounds of placing: each but the first is for pods that have given up a
	// preference.
	Round int
	// Planned are the new nodes so far.
	Planned []*PlannedNode
	// demandsPrepared is how many demands readDemands has seen, generation how often it has seen more.
	demandsPrepared, generation int
	// Leftovers are the pods that this round of placing could not place.
	Leftovers []Leftover
	// plannedValues remembers plannedValues, and settled the values of custom labels that claims
	// settle on, as long as the planned nodes stay as they are.
	plannedValues map[string][]string
	settled       map[nodeKey]string
	// alternatives is memory for AlternativesFor.
	alternatives dense.Set
}

// New reads the existing nodes.
func New(work *workload.Workload, offers *offering.Index) *State {
	p := &State{
		Work: work, Offers: offers, plannedValues: map[string][]string{}, settled: map[nodeKey]string{},
		alternatives: dense.NewSet(len(offers.Offerings)),
	}
	p.readExisting()
	p.readNominated()
	return p
}

// PlannedChanged forgets what is remembered of the planned nodes, which have changed.
func (p *State) PlannedChanged() {
	clear(p.plannedValues)
	clear(p.settled)
}

// Leftover are pods of a pod group without a place: for a reason found before nodes were packed, or
// as a demand that nothing has room for.
type Leftover struct {
	Group  *workload.Group
	Pods   []*corev1.Pod
	Reason string
	Demand *Demand
}

// AddLeftover notes that pods of a pod group stay without a place.
func (p *State) AddLeftover(s *workload.Group, pods []*corev1.Pod, reason string) {
	if len(pods) > 0 {
		p.Leftovers = append(p.Leftovers, Leftover{Group: s, Pods: pods, Reason: reason})
	}
}

// PlannedValues are the values that the planned nodes are expected to have of a key, sorted.
func (p *State) PlannedValues(key string) []string {
	if known, ok := p.plannedValues[key]; ok {
		return known
	}
	values := map[string]bool{}
	for _, n := range p.Planned {
		if value := p.PlannedValue(n, key); value != "" {
			values[value] = true
		}
	}
	p.plannedValues[key] = dense.SortedKeys(values)
	return p.plannedValues[key]
}

// PlannedValue is the value that a planned node is expected to have of a key; empty if that is
// open.
func (p *State) PlannedValue(n *PlannedNode, key string) string {
	if value, ok := n.Resolved.Labels()[key].Single(); ok {
		return value
	}
	if !scheduling.IsWellKnown(key) && !offering.IsOfferingKey(key) {
		at := nodeKey{n, key}
		value, known := p.settled[at]
		if !known {
			// The value that the claim is going to settle on: see claim.go.
			if r, asked := p.LabelsOf(n)[key]; asked {
				value, _ = p.Offers.ValueOn(n.Offering, r)
			}
			p.settled[at] = value
		}
		if value != "" {
			return value
		}
	}
	values := p.Offers.ValuesOf(p.Offers.PoolTypeOf(n.Offering).Pool, n.Offering, key)
	if len(values) != 1 {
		return ""
	}
	return values[0]
}

// nodeKey is a label key of a planned node.
type nodeKey struct {
	node *PlannedNode
	key  string
}

// Units is single in memory that is got for many pod groups at once.
func (p *State) Units(pods []*corev1.Pod) [][]*corev1.Pod {
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

// Single makes a unit of each pod.
func Single(pods []*corev1.Pod) [][]*corev1.Pod {
	return readUnits(make([][]*corev1.Pod, len(pods)), pods)
}

func Flatten(units [][]*corev1.Pod) []*corev1.Pod { return slices.Concat(units...) }

func CompareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// NewDemand is memory for a demand.
func (p *State) NewDemand() *Demand {
	if len(p.demandMemory) == 0 {
		p.demandMemory = make([]Demand, 64)
	}
	d := &p.demandMemory[0]
	p.demandMemory = p.demandMemory[1:]
	return d
}

// DropDemand takes back the demand that was added last. None of its units may have a place.
func (p *State) DropDemand(d *Demand) {
	p.Demands = p.Demands[:d.Index]
	p.demandsPrepared = -1 // The next demand gets the same index.
}

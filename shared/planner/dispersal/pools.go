package dispersal

import (
	"encoding/binary"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/claims"
)

// spotPool is what EC2 has spot prices and interruptions for.
type spotPool struct{ instanceType, zone string }

// spotPoolOf is the spot pool that a node came from. It is false for other nodes, and while nobody
// knows.
func spotPoolOf(n *plan.Node) (spotPool, bool) {
	pool := spotPool{n.Label(corev1.LabelInstanceTypeStable), n.Label(corev1.LabelTopologyZone)}
	return pool, n.Label(api.CapacityTypeLabelKey) == api.CapacityTypeSpot && pool.instanceType != "" && pool.zone != ""
}

// list is what the claims of some nodes may launch. Nodes that may launch the same share one.
type list struct {
	// offerings are cheapest first. Those of one list have one capacity type.
	offerings []int
	spot      bool
	// types counts the instance types, and zones has the zones in the order of their prices.
	types int
	zones []string
}

// lists remembers the lists by the offerings that fit.
type lists struct {
	*Dispersal
	byKey map[string]*list
	key   []byte
}

func (d *Dispersal) newLists() *lists { return &lists{Dispersal: d, byKey: map[string]*list{}} }

// of is the list of the node's claim.
func (l *lists) of(n *node) *list {
	fits := l.state.AlternativesFor(n.PlannedNode)
	// Which other offerings a claim lists depends on what pays for the node's own.
	o := &l.state.Offers.Offerings[n.Offering]
	l.key = binary.AppendVarint(binary.AppendVarint(l.key[:0], int64(o.Stock)), int64(o.Units))
	l.key = fits.AppendKey(l.key)
	if known := l.byKey[string(l.key)]; known != nil {
		return known
	}
	key := string(l.key)
	made := &list{offerings: claims.Alternatives(l.state, n.PlannedNode)}
	types, zones := map[string]bool{}, map[string]bool{}
	for _, j := range made.offerings {
		pool := l.poolOf(j)
		types[pool.instanceType] = true
		if !zones[pool.zone] {
			zones[pool.zone] = true
			made.zones = append(made.zones, pool.zone)
		}
	}
	made.types = len(types)
	made.spot = l.state.Offers.Offerings[made.offerings[0]].Source.CapacityType == api.CapacityTypeSpot
	l.byKey[key] = made
	return made
}

func (d *Dispersal) poolOf(j int) spotPool {
	o := &d.state.Offers.Offerings[j]
	return spotPool{d.state.Offers.PoolTypes[o.PoolType].Type.Name, o.Source.Zone}
}

// price is what the list's cheapest offering costs an hour.
func (d *Dispersal) price(l *list) float64 { return d.state.Offers.Offerings[l.offerings[0]].Price }

// shared is how many replicas of each workload may come from one spot pool, if EC2 chooses so that
// most do. listed are the lists of the new nodes, in their order.
func (d *Dispersal) shared(listed []*list) []int {
	// Pools that are in the same lists have the same replicas, so that one of them stands for all.
	number := map[*list]int{}
	in := map[spotPool]string{}
	for _, l := range listed {
		if _, known := number[l]; known || !l.spot {
			continue
		}
		number[l] = len(number)
		for _, j := range l.offerings {
			pool := d.poolOf(j)
			in[pool] = string(binary.AppendUvarint([]byte(in[pool]), uint64(number[l])))
		}
	}
	most := make([]int, len(d.workloads))
	classes := classesOf(in)
	for i := range d.workloads {
		w := &d.workloads[i]
		if w.total < plan.MinimumReplicas {
			continue
		}
		most[i] = d.sharedBy(i, listed, number, classes, in)
	}
	return most
}

// classesOf are the distinct sets of lists, by the numbers of the lists in them.
func classesOf(in map[spotPool]string) map[string][]int {
	classes := map[string][]int{}
	for _, text := range in {
		if _, known := classes[text]; known {
			continue
		}
		var numbers []int
		for rest := []byte(text); len(rest) > 0; {
			number, size := binary.Uvarint(rest)
			numbers, rest = append(numbers, int(number)), rest[size:]
		}
		classes[text] = numbers
	}
	return classes
}

// sharedBy is shared for one workload.
func (d *Dispersal) sharedBy(
	workload int, listed []*list, number map[*list]int, classes map[string][]int, in map[spotPool]string,
) int {
	counts := make([]int, len(number))
	for _, n := range d.workloads[workload].nodes {
		if l := listed[n.index]; l.spot {
			counts[number[l]] += n.count(d.state, workload)
		}
	}
	sum := func(class string) (sum int) {
		for _, at := range classes[class] {
			sum += counts[at]
		}
		return sum
	}
	most := 0
	for class := range classes {
		most = max(most, sum(class))
	}
	for pool, running := range d.workloads[workload].running {
		most = max(most, running+sum(in[pool]))
	}
	return most
}

package dispersal

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// none is the number of no workload.
const none = -1

// Dispersal is a plan's new nodes with the replicas on them.
type Dispersal struct {
	state *placement.State
	// percent is what dispersal may add to the price of a pool's nodes, by the pool's name.
	percent map[string]float64
	// workloads are those that count, by their numbers.
	workloads []replicas
	numbers   map[types.UID]int
	nodes     []*node
	// movable remembers the answers of isMovable, by demand: zero is unknown.
	movable []int8
	work    int
	// ledger counts the new nodes; nil until it is needed.
	ledger *placement.Ledger
}

// replicas are the pods of one workload.
type replicas struct {
	// total is how many pods it has with those that run, and most how many may be together.
	total, most int
	// nodes are the new nodes that have some.
	nodes []*node
	// running is how many run in each spot pool.
	running map[spotPool]int
}

// node is a new node with its units.
type node struct {
	*placement.PlannedNode
	index int
	held  []held
	// fixed nodes keep their units and offerings.
	fixed bool
	tier  int
}

// held are equal units of one demand and one workload on a node.
type held struct {
	demand, workload int
	units            [][]*corev1.Pod
}

// Read reads the new nodes of a plan whose demands have their units still. It returns nil where no
// workload counts.
func Read(state *placement.State, percent map[string]float64) *Dispersal {
	d := &Dispersal{state: state, percent: percent, numbers: map[types.UID]int{}}
	if !d.readWorkloads() {
		return nil
	}
	d.movable = make([]int8, len(state.Demands))
	d.readNodes()
	for i := range d.workloads {
		w := &d.workloads[i]
		w.most = plan.MostTogether(w.total)
	}
	return d
}

// readWorkloads numbers the workloads of the placed pods, and counts their pods. It reports whether
// one has enough.
func (d *Dispersal) readWorkloads() bool {
	gangs := map[plan.GangRef]bool{}
	for i := range d.state.Work.Snapshot.Gangs {
		gangs[d.state.Work.Snapshot.Gangs[i].GangRef] = true
	}
	for _, demand := range d.state.Demands {
		for _, unit := range demand.Units {
			for _, pod := range unit {
				if uid := plan.WorkloadOf(pod); uid != "" && (len(gangs) == 0 || !gangs[plan.GangOf(pod)]) {
					number, known := d.numbers[uid]
					if !known {
						number = len(d.workloads)
						d.numbers[uid] = number
						d.workloads = append(d.workloads, replicas{})
					}
					d.workloads[number].total++
				}
			}
		}
	}
	if len(d.workloads) > 0 {
		d.readRunning()
	}
	return slices.ContainsFunc(d.workloads, func(w replicas) bool { return w.total >= plan.MinimumReplicas })
}

// readRunning counts the pods of the workloads that run and stay.
func (d *Dispersal) readRunning() {
	waiting := map[types.UID]bool{}
	for _, demand := range d.state.Demands {
		for _, unit := range demand.Units {
			for _, pod := range unit {
				waiting[pod.UID] = true
			}
		}
	}
	nodes := d.state.Work.Snapshot.Nodes
	for i := range nodes {
		pool, isSpot := spotPoolOf(&nodes[i])
		for j := range nodes[i].Pods {
			pod := &nodes[i].Pods[j]
			number, counts := d.numbers[plan.WorkloadOf(pod)]
			if !counts || scheduling.IsTerminal(pod) || pod.DeletionTimestamp != nil || waiting[pod.UID] {
				continue
			}
			w := &d.workloads[number]
			w.total++
			if isSpot {
				if w.running == nil {
					w.running = map[spotPool]int{}
				}
				w.running[pool]++
			}
		}
	}
}

// numberOf is the number of the unit's workload. A unit of several pods has that of its first.
func (d *Dispersal) numberOf(unit []*corev1.Pod) int {
	number, counts := d.numbers[plan.WorkloadOf(unit[0])]
	if !counts || d.workloads[number].total < plan.MinimumReplicas {
		return none
	}
	return number
}

// readNodes reads which units come to which new node, in the order in which claims assigns them.
func (d *Dispersal) readNodes() {
	next := make([]int, len(d.state.Demands))
	for _, e := range d.state.Existing {
		for _, f := range e.Fills {
			next[f.Demand] += f.Count
		}
	}
	for i, planned := range d.state.Planned {
		n := &node{PlannedNode: planned, index: i, tier: d.tierOf(planned.Offering)}
		pool := d.state.Offers.PoolTypeOf(planned.Offering).Pool
		n.fixed = len(pool.MinValues) > 0 || d.percent[pool.Name()] <= 0 || d.state.Offers.IsExotic(planned.Offering)
		for _, f := range planned.Fills {
			for range f.Count {
				unit := d.state.Demands[f.Demand].Units[next[f.Demand]]
				n.add(held{demand: f.Demand, workload: d.numberOf(unit), units: [][]*corev1.Pod{unit}})
				next[f.Demand]++
			}
		}
		for _, h := range n.held {
			if h.workload == none {
				continue
			}
			if w := &d.workloads[h.workload]; len(w.nodes) == 0 || w.nodes[len(w.nodes)-1] != n {
				w.nodes = append(w.nodes, n)
			}
		}
		d.nodes = append(d.nodes, n)
	}
}

func (d *Dispersal) tierOf(j int) int {
	return slices.IndexFunc(d.state.Offers.Tiers, func(tier dense.Set) bool { return tier.Has(j) })
}

// add adds units to the node.
func (n *node) add(h held) {
	for i := range n.held {
		if n.held[i].demand == h.demand && n.held[i].workload == h.workload {
			n.held[i].units = append(n.held[i].units, h.units...)
			return
		}
	}
	n.held = append(n.held, h)
}

// take takes the last units of an entry off the node.
func (n *node) take(at, count int) held {
	h := &n.held[at]
	left := len(h.units) - count
	taken := held{demand: h.demand, workload: h.workload, units: slices.Clone(h.units[left:])}
	if h.units = h.units[:left]; left == 0 {
		n.held = slices.Delete(n.held, at, at+1)
	}
	return taken
}

// count is how many pods of the workload the node has.
func (n *node) count(state *placement.State, number int) int {
	count := 0
	for i := range n.held {
		if n.held[i].workload == number {
			count += len(n.held[i].units) * state.Demands[n.held[i].demand].PodsPerUnit()
		}
	}
	return count
}

// isMovable reports whether nothing but the node itself decides whether it can hold units of the
// demand.
func (d *Dispersal) isMovable(i int) bool {
	if d.movable[i] == 0 {
		d.movable[i] = -1
		demand := d.state.Demands[i]
		t := &demand.Group.Topology
		if demand.PodsPerUnit() == 1 && len(demand.Follows)+len(t.Spread)+len(t.Affinity)+len(t.AntiAffinity) == 0 &&
			!d.isSelected(demand.Group.Class) {
			d.movable[i] = 1
		}
	}
	return d.movable[i] > 0
}

// isSelected reports whether a constraint of a waiting pod selects the pods of the class.
func (d *Dispersal) isSelected(class int) bool {
	matches := func(s *workload.PodSelector) bool { return s.MatchesClass(d.state.Work.Classes, class) }
	for _, demand := range d.state.Demands {
		t := &demand.Group.Topology
		for i := range t.Spread {
			if matches(t.Spread[i].PodSelector) {
				return true
			}
		}
		for i := range t.Affinity {
			if matches(t.Affinity[i].PodSelector) {
				return true
			}
		}
		for i := range t.AntiAffinity {
			if matches(t.AntiAffinity[i].PodSelector) {
				return true
			}
		}
	}
	return false
}

// Write gives the demands their units in the order in which the nodes have them now.
func (d *Dispersal) Write() {
	next := make([]int, len(d.state.Demands))
	for _, e := range d.state.Existing {
		for _, f := range e.Fills {
			next[f.Demand] += f.Count
		}
	}
	units := map[int][][]*corev1.Pod{}
	for _, n := range d.nodes {
		for _, f := range n.Fills {
			for i := range n.held {
				if n.held[i].demand == f.Demand {
					units[f.Demand] = append(units[f.Demand], n.held[i].units...)
				}
			}
		}
	}
	for i, moved := range units {
		demand := d.state.Demands[i]
		demand.Units = append(slices.Clone(demand.Units[:next[i]]), moved...)
	}
	d.state.PlannedChanged()
}

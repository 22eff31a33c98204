package state

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/plan"
)

// gang is the running pods of one PodGroup. Where one of them is evicted, the work of all begins again.
type gang struct {
	// cost is the sum of the eviction costs of its pods.
	cost float64
}

// readGangs fills in the gangs of the nodes' pods. The label alone counts, since a running pod says
// nothing of how many others it needs.
func (f *Fleet) readGangs() {
	gangs := map[plan.GangRef]*gang{}
	for _, n := range f.Nodes {
		for _, pod := range n.Pods {
			ref := plan.GangOf(pod.Object)
			if ref.Name == "" {
				continue
			}
			if gangs[ref] == nil {
				gangs[ref] = &gang{}
			}
			pod.gang = gangs[ref]
			pod.gang.cost += pod.EvictionCost
		}
	}
}

// HasGang reports whether a pod of a gang is on the node.
func (n *Node) HasGang() bool {
	return slices.ContainsFunc(n.Pods, func(pod *Pod) bool { return pod.gang != nil })
}

// disturbed adds up evicted pods, with the rest of their gangs once.
type disturbed struct {
	// at has the place of each gang in rests, which are in the order in which the gangs came.
	at    map[*gang]int
	rests []gangRest
}

// gangRest is the eviction cost of a gang's pods that stay, and the number of the node to which it is
// charged.
type gangRest struct {
	node int
	cost float64
}

// evict returns the pod's eviction cost, and takes it from the rest of the pod's gang.
func (d *disturbed) evict(pod *Pod, node int) float64 {
	if g := pod.gang; g != nil {
		i, seen := d.at[g]
		if !seen {
			if d.at == nil {
				d.at = map[*gang]int{}
			}
			i = len(d.rests)
			d.at[g], d.rests = i, append(d.rests, gangRest{node, g.cost})
		}
		d.rests[i].cost -= pod.EvictionCost
	}
	return pod.EvictionCost
}

// Disturbances are what evicting the pods of each of the nodes costs. A gang restarts as a whole: its
// other pods count once, for the first of the nodes that has one of its pods. Pods that a step moved to
// a node are left out: they are evicted once, wherever they go.
func Disturbances(nodes []*Node) []float64 {
	var d disturbed
	costs := make([]float64, len(nodes))
	for i, n := range nodes {
		for _, pod := range n.Pods {
			if pod.From == n {
				costs[i] += d.evict(pod, i)
			}
		}
	}
	for _, rest := range d.rests {
		costs[rest.node] += max(0, rest.cost)
	}
	return costs
}

// Disturbance is what evicting the moved pods costs, with the rest of their gangs.
func (m *Move) Disturbance() float64 {
	var d disturbed
	sum := 0.0
	for _, placement := range m.Pods {
		sum += d.evict(placement.Pod, 0)
	}
	for _, rest := range d.rests {
		sum += max(0, rest.cost)
	}
	return sum
}

// MinimumSavings is what the deletion of the nodes together must save, in US dollars per hour. For each
// node it is the largest of three amounts: a part of the node's price, an amount for its pods, and a multiple
// of what the room of its Jobs costs, whose work begins again. The NodePool sets all.
func MinimumSavings(nodes []*Node) float64 {
	sum := 0.0
	for i, disturbance := range Disturbances(nodes) {
		n := nodes[i]
		sum += max(n.Pool.Part*n.Price, n.Pool.PerPod*disturbance, n.Pool.JobSavings*n.restarted())
	}
	return sum
}

// HasJob reports whether a pod of a Job is on the node.
func (n *Node) HasJob() bool {
	return slices.ContainsFunc(n.Pods, func(pod *Pod) bool { return pod.Job != "" })
}

// restarted is what the room of the node's Jobs costs, in US dollars per hour.
func (n *Node) restarted() float64 {
	sum := 0.0
	for _, pod := range n.Pods {
		if pod.Job != "" && pod.From == n {
			sum += pod.DualPrice
		}
	}
	return sum
}

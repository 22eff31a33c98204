package evaluation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Plans keep at most half of a workload's replicas on one node and in one spot pool. Consolidation
// would undo that where a few nodes have room for all of them. Steps that do are refused as long as
// what they would save is together no more than the part of the fleet's price that dispersal may
// cost.

// apartness is what the evaluator knows of workloads.
type apartness struct {
	workloads map[types.UID]*replicas
	// budget is what refused steps may save in US dollars per hour. forgone is what they would have
	// saved so far, by deleted node, and sum is their sum.
	budget  float64
	forgone map[*state.Node]float64
	sum     float64
}

// replicas are the pods of a workload.
type replicas struct {
	most int
	// nodes are those that have some, or that a step would have brought some to.
	nodes []*state.Node
}

// readApartness reads the workloads of the fleet's pods. It is nil where no pool pays for
// dispersal.
func readApartness(f *state.Fleet, totals map[*state.Pool]poolTotals) *apartness {
	a := &apartness{workloads: map[types.UID]*replicas{}, forgone: map[*state.Node]float64{}}
	for _, p := range f.Pools() {
		a.budget += totals[p].price * dispersalPercent(f, p) / 100
	}
	if a.budget <= 0 {
		return nil
	}
	totalOf := map[types.UID]int{}
	for _, n := range f.Nodes {
		for _, pod := range n.Pods {
			uid := plan.WorkloadOf(pod.Object)
			if uid == "" {
				continue
			}
			if totalOf[uid]++; a.workloads[uid] == nil {
				a.workloads[uid] = &replicas{}
			}
			a.workloads[uid].note(n)
		}
	}
	for uid, total := range totalOf {
		if a.workloads[uid].most = plan.MostTogether(total); total < plan.MinimumReplicas {
			delete(a.workloads, uid)
		}
	}
	return a
}

func dispersalPercent(f *state.Fleet, p *state.Pool) float64 {
	planner := f.Planner()
	return planner.DispersalPercentOf(p.API)
}

func (r *replicas) note(n *state.Node) {
	// Pods of a node come one after the other.
	for i := len(r.nodes) - 1; i >= 0; i-- {
		if r.nodes[i] == n {
			return
		}
	}
	r.nodes = append(r.nodes, n)
}

// LetConcentrate makes the evaluator allow steps that bring replicas together. It is for a step
// that another evaluator has allowed: that one knew what else there was to save.
func (e *Evaluator) LetConcentrate() { e.apart = nil }

// keepApart refuses the step if it brings more than half of a workload together.
func (e *Evaluator) keepApart(s *Step) state.Refusal {
	a := e.apart
	if a == nil {
		return state.Refusal{}
	}
	for _, n := range s.Delete {
		if n.Pool == nil || dispersalPercent(e.fleet, n.Pool) <= 0 {
			return state.Refusal{}
		}
	}
	pod, place := a.concentrates(s)
	if pod == nil || !a.forgo(s) {
		return state.Refusal{}
	}
	owner := metav1.GetControllerOfNoCopy(pod.Object)
	return state.Refusal{Because: state.TooLittle, Message: fmt.Sprintf(
		"moving %s would save $%.4f/h, and bring more than half of the replicas of %s %s/%s %s", state.Pods(s.PodsMoved()),
		s.Saved, owner.Kind, pod.Object.Namespace, owner.Name, place)}
}

// forgo counts what the step would save, and reports whether the budget allows to refuse it.
// Several steps may delete a node, of which only one could be made.
func (a *apartness) forgo(s *Step) bool {
	each, more := s.Saved/float64(len(s.Delete)), 0.0
	for _, n := range s.Delete {
		more += max(0, each-a.forgone[n])
	}
	if a.sum+more > a.budget {
		return false
	}
	for _, n := range s.Delete {
		a.forgone[n] = max(a.forgone[n], each)
	}
	a.sum += more
	return true
}

// arrival is replicas of a workload that a step brings to a node or a launch.
type arrival struct {
	workload types.UID
	to       state.Destination
}

// concentrates returns a pod of a workload of which the step brings more than half to one node or
// spot pool, and says which; nil if there is none. A workload of which so many were together before
// does not count.
func (a *apartness) concentrates(s *Step) (*state.Pod, string) {
	arriving := map[arrival]int{}
	leaving := map[*state.Node]bool{}
	for _, n := range s.Delete {
		leaving[n] = true
		for _, pod := range n.Pods {
			uid := plan.WorkloadOf(pod.Object)
			if r := a.workloads[uid]; r != nil {
				to := s.To[pod.Ref.String()]
				if arriving[arrival{uid, to}]++; to.Node != nil {
					r.note(to.Node)
				}
			}
		}
	}
	for _, n := range s.Delete {
		for _, pod := range n.Pods {
			uid := plan.WorkloadOf(pod.Object)
			r := a.workloads[uid]
			if r == nil {
				continue
			}
			at := arrival{uid, s.To[pod.Ref.String()]}
			if r.onNode(uid, at.to.Node)+arriving[at] > r.most && r.mostOnNode(uid) <= r.most {
				return pod, "to one node"
			}
			pool, known := poolOf(s, at.to)
			if known && r.inPool(uid, pool, leaving)+arrivingIn(arriving, s, uid, pool) > r.most &&
				r.mostInPool(uid) <= r.most {
				return pod, fmt.Sprintf("to spot nodes of %s in %s", pool.instanceType, pool.zone)
			}
		}
	}
	return nil, ""
}

// onNode is how many replicas are on the node.
func (r *replicas) onNode(uid types.UID, n *state.Node) int {
	count := 0
	if n == nil {
		return 0
	}
	for _, pod := range n.Pods {
		if plan.WorkloadOf(pod.Object) == uid {
			count++
		}
	}
	return count
}

// mostOnNode is the greatest number of replicas on one node.
func (r *replicas) mostOnNode(uid types.UID) int {
	most := 0
	for _, n := range r.nodes {
		most = max(most, r.onNode(uid, n))
	}
	return most
}

// spotPool is an instance type in a zone.
type spotPool struct{ instanceType, zone string }

// poolOf is the spot pool of a destination: for a launch, that of its cheapest offering. It is
// false where there is none, or nobody knows it.
func poolOf(s *Step, to state.Destination) (spotPool, bool) {
	if to.Node != nil {
		return spotPoolOf(to.Node)
	}
	first := &s.Launch[to.Launch].Offerings[0]
	return spotPool{first.InstanceType, first.Zone}, first.CapacityType == api.CapacityTypeSpot
}

func spotPoolOf(n *state.Node) (spotPool, bool) {
	pool := spotPool{n.Label(corev1.LabelInstanceTypeStable), n.Label(corev1.LabelTopologyZone)}
	return pool, n.Label(api.CapacityTypeLabelKey) == api.CapacityTypeSpot && pool.instanceType != "" && pool.zone != ""
}

// inPool is how many replicas are on nodes of the spot pool that do not leave.
func (r *replicas) inPool(uid types.UID, pool spotPool, leaving map[*state.Node]bool) int {
	count := 0
	for _, n := range r.nodes {
		if of, known := spotPoolOf(n); known && of == pool && !leaving[n] {
			count += r.onNode(uid, n)
		}
	}
	return count
}

// mostInPool is the greatest number of replicas in one spot pool.
func (r *replicas) mostInPool(uid types.UID) int {
	counts, most := map[spotPool]int{}, 0
	for _, n := range r.nodes {
		if pool, known := spotPoolOf(n); known {
			counts[pool] += r.onNode(uid, n)
			most = max(most, counts[pool])
		}
	}
	return most
}

// arrivingIn is how many replicas the step brings to nodes of the spot pool.
func arrivingIn(arriving map[arrival]int, s *Step, uid types.UID, pool spotPool) int {
	count := 0
	for at, pods := range arriving {
		if of, known := poolOf(s, at.to); at.workload == uid && known && of == pool {
			count += pods
		}
	}
	return count
}

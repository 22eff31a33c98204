package consolidation

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

func movesOf(found []state.Move) []Move {
	var moves []Move
	for i := range found {
		moves = append(moves, moveOf(&found[i]))
	}
	return moves
}

// moveOf describes what the fleet's move deletes, launches and saves.
func moveOf(found *state.Move) Move {
	m := Move{Reason: api.DisruptionReasonUnderutilized, PodsMoved: len(found.Pods), Disturbance: found.Disturbance()}
	for _, n := range found.Nodes {
		if n.Launched != nil {
			m.Launch = append(m.Launch, *n.Launched)
			m.SavedPerHour -= n.Launched.PricePerHour
			m.RiskSavedPerHour -= n.Launched.RiskPerHour
			m.SavedAtLeast -= dearest(n.Launched)
			continue
		}
		m.Delete = append(m.Delete, leavingOf(n))
		m.SavedPerHour += n.Price
		m.RiskSavedPerHour += n.Risk
		m.SavedAtLeast += n.Price
		if n.IsEmpty() {
			m.Reason = api.DisruptionReasonEmpty
		}
	}
	for _, placement := range found.Pods {
		if !scheduling.IsVirtual(placement.Pod.Object) && metav1.GetControllerOf(placement.Pod.Object) == nil {
			m.PodsEnded++
		}
		n := placement.Node
		if n.Launched != nil {
			continue
		}
		m.Places = append(m.Places, nominationOf(placement.Pod, n))
		claim := n.Source.NodeClaim
		if claim != nil && !state.IsInitialized(n.Source) && !slices.Contains(m.Await, claim.Name) {
			m.Await = append(m.Await, claim.Name)
		}
	}
	m.sort()
	return m
}

// sort orders the lists of the move independently of the search.
func (m *Move) sort() {
	slices.SortFunc(m.Delete, func(a, b Leaving) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.NodeClaim, b.NodeClaim))
	})
	slices.SortFunc(m.Places, func(a, b plan.Nomination) int { return comparePodRefs(a.Pod, b.Pod) })
	slices.SortFunc(m.Launch, func(a, b plan.PlannedNodeClaim) int {
		return cmp.Or(-cmp.Compare(a.PricePerHour, b.PricePerHour), comparePodRefs(a.Pods[0], b.Pods[0]))
	})
	slices.Sort(m.Await)
}

// dearest is the price of the claim's dearest offering in US dollars per hour.
func dearest(planned *plan.PlannedNodeClaim) float64 {
	most := 0.0
	for _, offering := range planned.Offerings {
		most = max(most, offering.Price)
	}
	return most
}

// BilledSavingsAtLeast is what the move saves on bills if each launch gets the offering with the
// highest bill.
func (m *Move) BilledSavingsAtLeast() float64 {
	saved, hasRisk := 0.0, false
	for i := range m.Delete {
		saved += m.Delete[i].PricePerHour - m.Delete[i].RiskPerHour
		hasRisk = hasRisk || m.Delete[i].RiskPerHour != 0
	}
	for i := range m.Launch {
		most := 0.0
		for _, offering := range m.Launch[i].Offerings {
			most = max(most, offering.Price-offering.Risk)
			hasRisk = hasRisk || offering.Risk != 0
		}
		saved -= most
	}
	if !hasRisk {
		return m.SavedAtLeast
	}
	return saved
}

func nominationOf(pod *state.Pod, n *state.Node) plan.Nomination {
	nomination := plan.Nomination{Pod: pod.Ref}
	if n.Source.Node != nil {
		nomination.NodeName = n.Source.Node.Name
	}
	if n.Source.NodeClaim != nil {
		nomination.NodeClaimName = n.Source.NodeClaim.Name
	}
	return nomination
}

func leavingOf(n *state.Node) Leaving {
	l := Leaving{
		NodeClaim: n.Source.NodeClaim.Name, Node: n.Name, NodePool: n.Pool.API.Name,
		InstanceType: n.Label(corev1.LabelInstanceTypeStable), Zone: n.Label(corev1.LabelTopologyZone),
		CapacityType: n.Label(api.CapacityTypeLabelKey), PricePerHour: n.Price, ExtrasPerHour: n.Extras,
		RiskPerHour: n.Risk,
	}
	for i := range n.Source.Pods {
		if pod := &n.Source.Pods[i]; scheduling.IsReschedulable(pod) {
			l.Pods = append(l.Pods, plan.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)})
		}
	}
	slices.SortFunc(l.Pods, comparePodRefs)
	return l
}

func comparePodRefs(a, b plan.PodRef) int {
	return cmp.Or(
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID),
	)
}

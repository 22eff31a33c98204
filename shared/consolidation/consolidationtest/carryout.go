package consolidationtest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
)

// CheckMove lists the faults of a move on the cluster before it: those that the planner's
// independent checker finds, forgotten pods, and a higher price.
func CheckMove(s *plan.Snapshot, m *consolidation.Move) []string {
	before, decided := split(s, m)
	wrong := plantest.Check(before, decided)
	price := 0.0
	for _, leaving := range m.Delete {
		price += leaving.PricePerHour
	}
	for i := range m.Launch {
		most := 0.0
		for _, offering := range m.Launch[i].Offerings {
			most = max(most, offering.Price)
		}
		price -= most
	}
	if price < -1e-6 || m.SavedPerHour < -1e-6 {
		wrong = append(wrong, fmt.Sprintf("price: it may save $%g/h, and says $%g/h", price, m.SavedPerHour))
	}
	if len(before.Pods)-len(s.Pods) != m.PodsMoved {
		wrong = append(
			wrong,
			fmt.Sprintf("pods: it says that it moves %d, and the nodes have %d", m.PodsMoved, len(before.Pods)-len(s.Pods)),
		)
	}
	return wrong
}

// split is the cluster with the move's nodes leaving and their pods pending, and the move as a plan
// for these pods.
func split(s *plan.Snapshot, m *consolidation.Move) (*plan.Snapshot, *plan.Plan) {
	before := *s
	before.Pods, before.Nodes = nil, slices.Clone(s.Nodes)
	goes := map[string]bool{}
	for _, leaving := range m.Delete {
		goes[leaving.NodeClaim] = true
	}
	moved := map[string]bool{}
	for _, leaving := range m.Delete {
		for _, pod := range leaving.Pods {
			moved[pod.String()] = true
		}
	}
	for i := range before.Nodes {
		n := &before.Nodes[i]
		if n.NodeClaim == nil || !goes[n.NodeClaim.Name] {
			continue
		}
		n.NodeClaim = n.NodeClaim.DeepCopy()
		n.NodeClaim.DeletionTimestamp = &metav1.Time{Time: Now}
		var rest []corev1.Pod
		for _, pod := range n.Pods {
			if moved[pod.Namespace+"/"+pod.Name] {
				pod.Spec.NodeName = ""
				before.Pods = append(before.Pods, pod)
			} else {
				rest = append(rest, pod)
			}
		}
		n.Pods = rest
	}
	decided := &plan.Plan{NodeClaims: m.Launch, Nominations: m.Places}
	for i := range m.Launch {
		decided.AddPrices(&m.Launch[i], 1)
	}
	return &before, decided
}

// CarryOut is the cluster after the move, with each launch at its cheapest offering. It does not
// change the snapshot. The names of new objects begin with the prefix.
func CarryOut(s *plan.Snapshot, m *consolidation.Move, prefix string, at time.Time) *plan.Snapshot {
	before, _ := split(s, m)
	waiting := map[string]corev1.Pod{}
	for _, pod := range before.Pods {
		waiting[pod.Namespace+"/"+pod.Name] = pod
	}
	after := *s
	after.Nodes = nil
	index := map[string]int{}
	for _, n := range before.Nodes {
		if n.NodeClaim != nil && n.NodeClaim.DeletionTimestamp != nil &&
			slices.ContainsFunc(m.Delete, func(l consolidation.Leaving) bool { return l.NodeClaim == n.NodeClaim.Name }) {
			continue
		}
		if n.Node != nil {
			index[n.Node.Name] = len(after.Nodes)
		} else if n.NodeClaim != nil {
			index[n.NodeClaim.Name] = len(after.Nodes)
		}
		n.Pods = slices.Clip(n.Pods) // what is added goes into a copy
		after.Nodes = append(after.Nodes, n)
	}
	place := func(ref plan.PodRef, at int, when time.Time) {
		pod := waiting[ref.String()]
		name := ""
		if after.Nodes[at].Node != nil {
			name = after.Nodes[at].Node.Name
		}
		Bind(&pod, name, when)
		after.Nodes[at].Pods = append(after.Nodes[at].Pods, pod)
	}
	for _, nomination := range m.Places {
		name := nomination.NodeName
		if name == "" {
			name = nomination.NodeClaimName
		}
		place(nomination.Pod, index[name], at)
	}
	for i := range m.Launch {
		name := fmt.Sprintf("%s-%d", prefix, i)
		after.Nodes = append(after.Nodes, launched(s, &m.Launch[i], name, at))
		for _, ref := range m.Launch[i].Pods {
			place(ref, len(after.Nodes)-1, at)
		}
	}
	return &after
}

// launched is the node that the claim becomes.
func launched(s *plan.Snapshot, planned *plan.PlannedNodeClaim, name string, at time.Time) plan.Node {
	claim := planned.NodeClaim.DeepCopy()
	claim.Name, claim.GenerateName, claim.UID, claim.CreationTimestamp = claim.GenerateName+name, "", types.UID(
		"uid-claim-"+name,
	), metav1.NewTime(
		at,
	)
	choice := planned.Offerings[0]
	var of *catalog.InstanceType
	var by *catalog.Offering
	list := s.InstanceTypes[claim.Labels[api.NodePoolLabelKey]]
	for i := range list {
		if list[i].Name != choice.InstanceType {
			continue
		}
		for j := range list[i].Offerings {
			if o := &list[i].Offerings[j]; o.Zone == choice.Zone && o.CapacityType == choice.CapacityType &&
				o.ReservationID == choice.ReservationID {
				of, by = &list[i], o
			}
		}
	}
	labels := maps.Clone(claim.Labels)
	maps.Copy(labels, Node(name, labels[api.NodePoolLabelKey], of, by, at).NodeClaim.Labels)
	claim.Labels = labels
	return Joined(name, claim, of, labels, at)
}

// Price is the price of the nodes in US dollars per hour, by their offerings.
func Price(s *plan.Snapshot) float64 {
	sum := 0.0
	for i := range s.Nodes {
		sum += priceOf(s, &s.Nodes[i])
	}
	return sum
}

func priceOf(s *plan.Snapshot, n *plan.Node) float64 {
	if n.NodeClaim == nil {
		return 0
	}
	labels := n.NodeClaim.Labels
	for _, t := range s.InstanceTypes[labels[api.NodePoolLabelKey]] {
		if t.Name != labels[corev1.LabelInstanceTypeStable] {
			continue
		}
		for _, o := range t.Offerings {
			if o.Zone == labels[corev1.LabelTopologyZone] && o.CapacityType == labels[api.CapacityTypeLabelKey] &&
				o.ReservationID == labels[api.LabelCapacityReservationID] {
				return o.Price
			}
		}
	}
	return 0
}

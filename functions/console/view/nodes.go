package view

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/membership"
	"github.com/whittle-dev/whittle/shared/nodecost"
	"github.com/whittle-dev/whittle/shared/nodestate"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// nodes joins claims and nodes.
func nodes(objects *Cluster, now time.Time) []Node {
	members := membership.Join(objects.NodeClaims, objects.Nodes)
	byNode := map[string][]*corev1.Pod{}
	for i := range objects.Pods {
		if pod := &objects.Pods[i]; pod.Spec.NodeName != "" && !scheduling.IsTerminal(pod) {
			byNode[pod.Spec.NodeName] = append(byNode[pod.Spec.NodeName], pod)
		}
	}
	shown := []Node{}
	claimed := map[*corev1.Node]bool{}
	words := nodestate.NewReader(nodestate.World{
		Claims: objects.NodeClaims, Pools: objects.NodePools, Budgets: objects.Budgets, Shifted: objects.Shifted, Now: now,
	})
	costs := nodecost.Of(objects.Catalog, objects.NodeClasses, objects.NodePools)
	for i := range objects.NodeClaims {
		claim := &objects.NodeClaims[i]
		node := members.Node(claim)
		claimed[node] = true
		made := ofClaim(claim, node, byNode, objects.Catalog)
		made.stands(words.Of(claim, node, byNode[made.Name]))
		if made.PricePerHour > 0 {
			made.ExtrasPerHour = costs.OfClaim(claim)
			made.PricePerHour += made.ExtrasPerHour
			made.pay(claim, objects.Commitments, now)
		}
		shown = append(shown, made)
	}
	for i := range objects.Nodes {
		if node := &objects.Nodes[i]; !claimed[node] {
			shown = append(shown, ofOthers(node, byNode, words))
		}
	}
	slices.SortFunc(shown, func(a, b Node) int {
		return cmp.Or(
			compareLast(a.NodePool, b.NodePool), strings.Compare(a.NodeClaim, b.NodeClaim), strings.Compare(a.Name, b.Name),
		)
	})
	return shown
}

// pay notes what commitments pay for.
func (n *Node) pay(claim *api.NodeClaim, reading *commitment.Reading, now time.Time) {
	id, has := api.InstanceID(claim.Status.ProviderID)
	if !has || !reading.Current(now) || reading.Covered[id] <= 0 {
		return
	}
	n.CoveredPerHour = n.InstancePerHour() * min(reading.Covered[id], 1)
	n.CommitmentsPerHour = reading.Costs[id]
}

// compareLast compares names. An empty name comes last.
func compareLast(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == "":
		return 1
	case b == "":
		return -1
	}
	return strings.Compare(a, b)
}

// ofClaim shows a claim and its node. The node is nil until it has joined.
func ofClaim(claim *api.NodeClaim, node *corev1.Node, byNode map[string][]*corev1.Pod, known *catalog.Catalog) Node {
	labels, allocatable := claim.Labels, claim.Status.Allocatable
	shown := Node{
		NodeClaim: claim.Name, NodePool: claim.Labels[api.NodePoolLabelKey], ProviderID: claim.Status.ProviderID,
		Created: claim.CreationTimestamp.UTC(),
	}
	if node != nil {
		shown.Name, allocatable = node.Name, node.Status.Allocatable
		// An adopted claim may lack labels that its node has.
		if labels[corev1.LabelInstanceTypeStable] == "" {
			labels = node.Labels
		}
		shown.add(byNode[node.Name])
	}
	shown.describe(labels, allocatable)
	// Without an instance, the claim's labels allow several types.
	if known != nil && claim.Status.ProviderID != "" {
		shown.PricePerHour, _ = known.Price(labels)
		shown.OnDemandPerHour, _ = known.Price(
			map[string]string{corev1.LabelInstanceTypeStable: labels[corev1.LabelInstanceTypeStable]},
		)
	}
	return shown
}

// ofOthers shows a node without a claim, of a managed node group or Fargate.
func ofOthers(node *corev1.Node, byNode map[string][]*corev1.Pod, words *nodestate.Reader) Node {
	shown := Node{Name: node.Name, ProviderID: node.Spec.ProviderID, Created: node.CreationTimestamp.UTC()}
	shown.stands(words.Of(nil, node, nil))
	shown.add(byNode[node.Name])
	shown.describe(node.Labels, node.Status.Allocatable)
	return shown
}

// stands adds the words about the node.
func (n *Node) stands(words nodestate.Standing) {
	n.State, n.HeldUp = words.State, words.Has(nodestate.HeldUp)
	for i, mark := range words.Marks {
		words.Marks[i].Text = printable.Line(mark.Text)
	}
	n.Marks, n.Reason = words.Marks, printable.Line(words.Note())
}

func (n *Node) describe(labels map[string]string, allocatable corev1.ResourceList) {
	n.InstanceType, n.Zone = labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone]
	n.CapacityType = labels[api.CapacityTypeLabelKey]
	n.Allocatable = Resources{CPU: *allocatable.Cpu(), Memory: *allocatable.Memory()}
	n.Labels = labels
	for _, name := range slices.Sorted(maps.Keys(allocatable)) {
		if quantity := allocatable[name]; isOther(name) && quantity.Sign() > 0 {
			n.Others = append(n.Others, Other{string(name), n.other[name], quantity})
		}
	}
}

// isOther reports whether a resource is shown beside CPU and memory. Devices are, and so are huge pages.
// Every node has disks and a number of pods.
func isOther(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods, corev1.ResourceEphemeralStorage,
		corev1.ResourceStorage:
		return false
	}
	return !strings.HasPrefix(string(name), "attachable-volumes-")
}

func (n *Node) add(pods []*corev1.Pod) {
	for _, pod := range pods {
		requests := scheduling.PodRequests(pod)
		n.Pods++
		n.Requested.CPU.Add(*requests.Cpu())
		n.Requested.Memory.Add(*requests.Memory())
		for name, quantity := range requests {
			if !isOther(name) {
				continue
			}
			if n.other == nil {
				n.other = corev1.ResourceList{}
			}
			sum := n.other[name]
			sum.Add(quantity)
			n.other[name] = sum
		}
	}
}

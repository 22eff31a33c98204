package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/sight"
	"github.com/whittle-dev/whittle/shared/status"
)

// Plan is a plan in a form for programs. Its lists and objects are sorted and never null. The same
// plan gives the same text, except for Seconds.
type Plan struct {
	FormatVersion int `json:"formatVersion"`
	// Nodes are the nodes to launch.
	Nodes []Node `json:"nodes"`
	// Existing are the existing or launching nodes that take pending pods.
	Existing []Existing `json:"existing"`
	// Unschedulable are the pods without a place.
	Unschedulable []Unschedulable `json:"unschedulable"`
	// Held are the pods that wait and that no node is planned for now.
	Held []Held `json:"held"`
	// PricePerHour is the sum over Nodes in $/h, each with its cheapest offering. ExtrasPerHour is the
	// part of it that nodes cost beside their instances: volumes, public addresses, fees.
	PricePerHour  float64 `json:"pricePerHour"`
	ExtrasPerHour float64 `json:"extrasPerHour"`
	// RiskPerHour is what interruptions of these nodes cost beside PricePerHour, by what EC2 took
	// back lately. It is on no bill.
	RiskPerHour float64 `json:"riskPerHour,omitempty"`
	// LowerBoundPerHour is a price in $/h, with RiskPerHour, below which no plan for the same pods
	// exists.
	LowerBoundPerHour float64 `json:"lowerBoundPerHour"`
	// Optimal says that the price meets the bound: no nodes for the same pods cost less.
	Optimal bool `json:"optimal"`
	Assumed
	// Prices says where the prices come from, for people.
	Prices string `json:"prices"`
	// Seconds is the time for planning, without reading and writing.
	Seconds float64 `json:"seconds"`
}

// FormatVersion is the version of the forms for programs. New fields keep it.
const FormatVersion = 1

// Node is a node to launch: its NodeClaim, and the expected instance.
type Node struct {
	NodePool string `json:"nodePool"`
	// Requirements are the claim's requirements, sorted by key.
	Requirements []api.NodeSelectorRequirementWithMinValues `json:"requirements"`
	// Labels are the claim's labels. Each of the user's keys has one value.
	Labels map[string]string `json:"labels"`
	// Annotations are the claim's annotations, without Whittle's list of pods.
	Annotations   map[string]string `json:"annotations"`
	Taints        []corev1.Taint    `json:"taints"`
	StartupTaints []corev1.Taint    `json:"startupTaints"`
	// Requests are the sum over pods and daemon set pods. "pods" counts both.
	Requests corev1.ResourceList `json:"requests"`
	// Pods are the node's pods as namespace/name.
	Pods []string `json:"pods"`
	// InstanceTypes are the possible instance types, the cheapest first.
	InstanceTypes []string `json:"instanceTypes"`
	// InstanceType, Zone, CapacityType and PricePerHour ($/h) are those of the cheapest offering.
	// ExtrasPerHour is the part of PricePerHour that the node costs beside its instance.
	InstanceType  string  `json:"instanceType"`
	Zone          string  `json:"zone"`
	CapacityType  string  `json:"capacityType"`
	PricePerHour  float64 `json:"pricePerHour"`
	ExtrasPerHour float64 `json:"extrasPerHour"`
	// RiskPerHour is what interruptions of the node cost beside PricePerHour.
	RiskPerHour float64 `json:"riskPerHour,omitempty"`
}

// Existing is a node that takes pending pods.
type Existing struct {
	// Node is empty until the node has joined the cluster.
	Node string `json:"node"`
	// NodeClaim is empty for a node without a claim.
	NodeClaim string   `json:"nodeClaim"`
	Pods      []string `json:"pods"`
}

// Unschedulable is a pod without a place.
type Unschedulable struct {
	Pod     string   `json:"pod"`
	Reasons []Reason `json:"reasons"`
}

// Held is a pod that waits and that no node is planned for now.
type Held struct {
	Pod string `json:"pod"`
	// Reason is a value of sight.HeldReason.
	Reason string `json:"reason"`
	// Message says why, and what would help.
	Message string `json:"message"`
	// Until is when the pod is planned for again; nil where no time decides.
	Until *time.Time `json:"until,omitempty"`
}

// Reason says why a pod has no place, and what would help.
type Reason struct {
	// NodePool is empty if no pool causes the reason.
	NodePool string `json:"nodePool"`
	Reason   string `json:"reason"`
}

// Of converts a plan that took some time. prices says where the prices come from.
func Of(p *plan.Plan, took time.Duration, prices string) *Plan {
	r := &Plan{
		FormatVersion: FormatVersion, Prices: prices,
		Nodes: []Node{}, Existing: existing(p.Nominations), Unschedulable: []Unschedulable{},
		Held: []Held{}, Assumed: nothingAssumed(),
		PricePerHour: p.BilledPerHour(), ExtrasPerHour: p.ExtrasPerHour, RiskPerHour: p.RiskPerHour,
		LowerBoundPerHour: p.LowerBoundPerHour, Optimal: status.IsOptimal(p.PricePerHour, p.LowerBoundPerHour),
		Seconds: took.Seconds(),
	}
	for i := range p.NodeClaims {
		r.Nodes = append(r.Nodes, node(&p.NodeClaims[i]))
	}
	for _, u := range p.Unplaced {
		reasons := []Reason{}
		for _, reason := range u.Reasons {
			reasons = append(reasons, Reason{NodePool: reason.NodePool, Reason: reason.Message})
		}
		r.Unschedulable = append(r.Unschedulable, Unschedulable{Pod: u.Pod.String(), Reasons: reasons})
	}
	return r
}

// Hold adds the pods that wait and that the plan leaves out.
func (p *Plan) Hold(pods []sight.Held) {
	for _, pod := range pods {
		shown := Held{Pod: pod.Pod.String(), Reason: string(pod.Reason), Message: pod.Message}
		if !pod.Until.IsZero() {
			shown.Until = &pod.Until
		}
		p.Held = append(p.Held, shown)
	}
}

func node(p *plan.PlannedNodeClaim) Node {
	claim := &p.NodeClaim
	n := Node{
		NodePool:     claim.Labels[api.NodePoolLabelKey],
		Requirements: orEmpty(claim.Spec.Requirements),
		Labels:       map[string]string{}, Annotations: map[string]string{},
		Taints: orEmpty(claim.Spec.Taints), StartupTaints: orEmpty(claim.Spec.StartupTaints),
		Requests: corev1.ResourceList{}, Pods: []string{}, InstanceTypes: orEmpty(p.InstanceTypes),
		PricePerHour: p.BilledPerHour(), ExtrasPerHour: p.ExtrasPerHour, RiskPerHour: p.RiskPerHour,
	}
	maps.Copy(n.Labels, claim.Labels)
	maps.Copy(n.Annotations, claim.Annotations)
	delete(n.Annotations, api.NominatedPodsAnnotationKey)
	maps.Copy(n.Requests, claim.Spec.Resources.Requests)
	for _, pod := range p.Pods {
		n.Pods = append(n.Pods, pod.String())
	}
	if len(p.Offerings) > 0 {
		n.InstanceType, n.Zone, n.CapacityType = p.Offerings[0].InstanceType, p.Offerings[0].Zone, p.Offerings[0].CapacityType
	}
	return n
}

func existing(nominations []plan.Nomination) []Existing {
	found := []Existing{}
	index := map[[2]string]int{}
	for _, n := range nominations {
		key := [2]string{n.NodeName, n.NodeClaimName}
		i, ok := index[key]
		if !ok {
			i = len(found)
			index[key] = i
			found = append(found, Existing{Node: n.NodeName, NodeClaim: n.NodeClaimName})
		}
		found[i].Pods = append(found[i].Pods, n.Pod.String())
	}
	slices.SortFunc(found, func(a, b Existing) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.NodeClaim, b.NodeClaim))
	})
	return found
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

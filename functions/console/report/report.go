// Package report shows people and programs what a plan is: as JSON in a form that stays,
// as tables, and for one pod as an explanation. It is pure.
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
)

// Plan is a plan as programs read it. Its lists and objects are never null, and sorted:
// the same plan is the same text, but for Seconds.
type Plan struct {
	// Nodes are those to launch.
	Nodes []Node `json:"nodes"`
	// Existing are the nodes that are there, or on their way, and take waiting pods.
	Existing []Existing `json:"existing"`
	// Unschedulable are the pods without a place.
	Unschedulable []Unschedulable `json:"unschedulable"`
	// PricePerHour is US dollars an hour of Nodes in sum, each as the cheapest of its
	// offerings.
	PricePerHour float64 `json:"pricePerHour"`
	// LowerBoundPerHour is what no plan for the same pods can cost less than.
	LowerBoundPerHour float64 `json:"lowerBoundPerHour"`
	// Seconds is how long the planning took, without reading and writing.
	Seconds float64 `json:"seconds"`
}

// Node is a node to launch: what its NodeClaim would be, and what is expected of it.
type Node struct {
	NodePool string `json:"nodePool"`
	// Requirements are the claim's, sorted by key.
	Requirements []api.NodeSelectorRequirementWithMinValues `json:"requirements"`
	// Labels are the claim's, with one value for each key of the user's own.
	Labels map[string]string `json:"labels"`
	// Annotations are the claim's, without the list of pods that Whittle keeps there.
	Annotations   map[string]string `json:"annotations"`
	Taints        []corev1.Taint    `json:"taints"`
	StartupTaints []corev1.Taint    `json:"startupTaints"`
	// Requests are those of the pods and of the daemon sets' pods in sum; "pods" counts both.
	Requests corev1.ResourceList `json:"requests"`
	// Pods are those that the node is for, as namespace/name.
	Pods []string `json:"pods"`
	// InstanceTypes are all that the node may be, cheapest first.
	InstanceTypes []string `json:"instanceTypes"`
	// InstanceType, Zone, CapacityType and PricePerHour (US dollars) are the cheapest
	// offering's.
	InstanceType string  `json:"instanceType"`
	Zone         string  `json:"zone"`
	CapacityType string  `json:"capacityType"`
	PricePerHour float64 `json:"pricePerHour"`
}

// Existing is a node that takes waiting pods.
type Existing struct {
	// Node is empty as long as the node has not joined the cluster.
	Node string `json:"node"`
	// NodeClaim is empty for a node that no claim stands for.
	NodeClaim string   `json:"nodeClaim"`
	Pods      []string `json:"pods"`
}

// Unschedulable is a pod without a place.
type Unschedulable struct {
	Pod     string   `json:"pod"`
	Reasons []Reason `json:"reasons"`
}

// Reason is what stands in a pod's way, and what would mend it.
type Reason struct {
	// NodePool is empty for what no pool causes.
	NodePool string `json:"nodePool"`
	Reason   string `json:"reason"`
}

// Of is the report of a plan that took some time.
func Of(p *plan.Plan, took time.Duration) *Plan {
	r := &Plan{
		Nodes: []Node{}, Existing: existing(p.Nominations), Unschedulable: []Unschedulable{},
		PricePerHour: p.PricePerHour, LowerBoundPerHour: p.LowerBoundPerHour, Seconds: took.Seconds(),
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

func node(p *plan.PlannedNodeClaim) Node {
	claim := &p.NodeClaim
	n := Node{
		NodePool:     claim.Labels[api.NodePoolLabelKey],
		Requirements: orEmpty(claim.Spec.Requirements),
		Labels:       map[string]string{}, Annotations: map[string]string{},
		Taints: orEmpty(claim.Spec.Taints), StartupTaints: orEmpty(claim.Spec.StartupTaints),
		Requests: corev1.ResourceList{}, Pods: []string{}, InstanceTypes: orEmpty(p.InstanceTypes),
		PricePerHour: p.PricePerHour,
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

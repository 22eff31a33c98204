package topology

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// nodeFilter selects the nodes that count for a spread, by nodeAffinityPolicy and nodeTaintsPolicy.
// Pod groups that ask for the same nodes share a filter.
type nodeFilter struct {
	name string
	// required are requirements of which a node has to meet one; nil if any node counts.
	required []scheduling.Requirements
	// tolerations must tolerate the node's taints if honorTaints is set.
	tolerations []corev1.Toleration
	honorTaints bool
	// keys are topology keys that a node must have. Kubernetes passes over nodes without the keys of
	// all the pod's required spreads.
	keys []string
	// nodeTermsKey is that of the groups; admitted remembers admits by the other group's key.
	nodeTermsKey string
	admitted     map[string]bool
}

// filterOf returns the filter of a spread of the group; nil if all nodes count.
func (t *Topology) filterOf(g *workload.Group, term *workload.SpreadTerm) *nodeFilter {
	f := &nodeFilter{honorTaints: term.HonorTaints, tolerations: g.Tolerations, nodeTermsKey: g.NodeTermsKey}
	if !term.IgnoreAffinity && (g.Required.Len() != 1 || len(g.Required.List()[0]) > 0) {
		f.required = g.Required.List()
	}
	for i := range g.Topology.Spread {
		other := &g.Topology.Spread[i]
		if !other.Preferred && !term.Preferred && other.Key != term.Key && other.Key != corev1.LabelHostname {
			f.keys = append(f.keys, other.Key)
		}
	}
	if f.required == nil && !f.honorTaints && len(f.keys) == 0 {
		return nil
	}
	slices.Sort(f.keys)
	f.name = fmt.Sprint(term.IgnoreAffinity, term.HonorTaints, f.keys, g.NodeTermsKey)
	if known, ok := t.memo.filters[f.name]; ok {
		return known
	}
	f.admitted = map[string]bool{}
	t.memo.filters[f.name] = f
	return f
}

// counts reports whether pods on the node count.
func (f *nodeFilter) counts(node *plan.Node) bool {
	for _, key := range f.keys {
		if _, ok := node.Domain(key); !ok {
			return false
		}
	}
	labels := scheduling.Requirements{}
	if node.Node != nil {
		labels = scheduling.FromLabels(node.Node.Labels)
	}
	if node.NodeClaim != nil {
		for key, value := range node.NodeClaim.Labels {
			if _, ok := labels[scheduling.NormalizeKey(key)]; !ok {
				labels.Add(scheduling.In(key, value))
			}
		}
	}
	if f.honorTaints && !scheduling.ToleratesAll(node.Taints(), f.tolerations) {
		return false
	}
	return f.required == nil || slices.ContainsFunc(f.required, func(r scheduling.Requirements) bool {
		return labels.IsCompatible(r, scheduling.UndefinedIsAbsent)
	})
}

// countsPlanned reports whether pods on a planned node will count, as the node is now. A nil filter
// counts all.
func (f *nodeFilter) countsPlanned(state *placement.State, n *placement.PlannedNode) bool {
	if f == nil {
		return true
	}
	pool := state.Offers.PoolTypeOf(n.Offering).Pool
	if f.honorTaints && !scheduling.ToleratesAll(pool.NodePool.Spec.Template.Spec.Taints, f.tolerations) {
		return false
	}
	if slices.ContainsFunc(f.keys, func(key string) bool { return state.PlannedValue(n, key) == "" }) {
		return false
	}
	return f.required == nil || slices.ContainsFunc(f.required, func(r scheduling.Requirements) bool {
		set, _ := state.Offers.Feasibilities.Meeting(pool, r)
		return set != nil && set.Has(n.Offering) && offering.Compatible(n.Resolved.Labels(), r) && resolvesTo(state, n, r)
	})
}

// resolvesTo reports whether the custom labels that the node's claim resolves meet the requirements.
func resolvesTo(state *placement.State, n *placement.PlannedNode, requirements scheduling.Requirements) bool {
	for key, r := range requirements {
		if scheduling.IsWellKnown(key) || offering.IsOfferingKey(key) {
			continue
		}
		if value := state.PlannedValue(n, key); value != "" && !r.Has(value) {
			return false
		}
	}
	return true
}

// admits reports whether the demand's pods may land on nodes that count.
func (f *nodeFilter) admits(d *placement.Demand) bool {
	if f.required == nil || d.Group.NodeTermsKey == f.nodeTermsKey {
		return true
	}
	if known, ok := f.admitted[d.Group.NodeTermsKey]; ok {
		return known
	}
	admitted := workload.Combine(d.Group.Required.List(), f.required) != nil
	f.admitted[d.Group.NodeTermsKey] = admitted
	return admitted
}

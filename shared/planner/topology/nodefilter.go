package topology

import (
	"fmt"
	"slices"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// nodeFilter are the nodes that count for the spreads of shapes which ask for the same nodes: see nodeAffinityPolicy and nodeTaintsPolicy.
type nodeFilter struct {
	name string
	// strict are the requirements of which a node has to meet one; nil if any node does.
	strict []scheduling.Requirements
	// tolerations are those by which a node has to be tolerated, if honorTaints.
	tolerations []corev1.Toleration
	honorTaints bool
	// keys are those that a node must have, since the shapes have several constraints: Kubernetes passes over nodes that lack one of them.
	keys []string
	// placement is that of the shapes, admitted what admits found by placement.
	placement string
	admitted  map[string]bool
}

// filterOf are the nodes that count for a spread of the shape's; nil for all.
func (p *Topology) filterOf(s *workload.Group, term *workload.SpreadTerm) *nodeFilter {
	f := &nodeFilter{honorTaints: term.HonorTaints, tolerations: s.Tolerations, placement: s.NodeTermsKey}
	if !term.IgnoreAffinity && (s.Required.Len() != 1 || len(s.Required.List()[0]) > 0) {
		f.strict = s.Required.List()
	}
	for i := range s.Topology.Spread {
		if other := &s.Topology.Spread[i]; !other.Preferred && !term.Preferred && other.Key != term.Key && other.Key != corev1.LabelHostname {
			f.keys = append(f.keys, other.Key)
		}
	}
	if f.strict == nil && !f.honorTaints && len(f.keys) == 0 {
		return nil
	}
	slices.Sort(f.keys)
	f.name = fmt.Sprint(term.IgnoreAffinity, term.HonorTaints, f.keys, s.NodeTermsKey)
	if known, ok := p.Counts.filters[f.name]; ok {
		return known
	}
	f.admitted = map[string]bool{}
	p.Counts.filters[f.name] = f
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
	return f.strict == nil || slices.ContainsFunc(f.strict, func(a scheduling.Requirements) bool { return labels.IsCompatible(a, scheduling.UndefinedIsAbsent) })
}

// countsPlanned reports whether pods on a planned node are going to count, as it is now. A nil filter counts all.
func (f *nodeFilter) countsPlanned(p *placement.State, n *placement.PlannedNode) bool {
	if f == nil {
		return true
	}
	pool := p.Offers.PoolTypeOf(n.Offering).Pool
	if f.honorTaints && !scheduling.ToleratesAll(pool.NodePool.Spec.Template.Spec.Taints, f.tolerations) ||
		slices.ContainsFunc(f.keys, func(key string) bool { return p.PlannedValue(n, key) == "" }) {
		return false
	}
	return f.strict == nil || slices.ContainsFunc(f.strict, func(a scheduling.Requirements) bool {
		set, _ := p.Offers.Feasibilities.Meeting(pool, a)
		return set != nil && set.Has(n.Offering) && offering.Intersect(n.Resolved.Labels(), a) && settlesOn(p, n, a)
	})
}

// settlesOn reports whether the labels that the node's claim has to settle come out as the requirements want them.
func settlesOn(p *placement.State, n *placement.PlannedNode, a scheduling.Requirements) bool {
	for key, want := range a {
		if scheduling.IsWellKnown(key) || offering.IsOfferingKey(key) {
			continue
		}
		if value := p.PlannedValue(n, key); value != "" && !want.Has(value) {
			return false
		}
	}
	return true
}

// admits reports whether the demand's pods may come to be on nodes that count.
func (f *nodeFilter) admits(d *placement.Demand) bool {
	if f.strict == nil || d.Group.NodeTermsKey == f.placement {
		return true
	}
	if known, ok := f.admitted[d.Group.NodeTermsKey]; ok {
		return known
	}
	admitted := workload.Combine(d.Group.Required.List(), f.strict) != nil
	f.admitted[d.Group.NodeTermsKey] = admitted
	return admitted
}

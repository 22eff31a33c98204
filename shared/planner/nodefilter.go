package planner

import (
	"fmt"
	"slices"

	"github.com/whittle-dev/whittle/shared/plan"

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
func (p *topology) filterOf(s *shape, term *spreadTerm) *nodeFilter {
	f := &nodeFilter{honorTaints: term.honorTaints, tolerations: s.tolerations, placement: s.placement}
	if !term.ignoreAffinity && (len(s.strict) != 1 || len(s.strict[0]) > 0) {
		f.strict = s.strict
	}
	for i := range s.topology.spread {
		if other := &s.topology.spread[i]; !other.preferred && !term.preferred && other.key != term.key && other.key != corev1.LabelHostname {
			f.keys = append(f.keys, other.key)
		}
	}
	if f.strict == nil && !f.honorTaints && len(f.keys) == 0 {
		return nil
	}
	slices.Sort(f.keys)
	f.name = fmt.Sprint(term.ignoreAffinity, term.honorTaints, f.keys, s.placement)
	if known, ok := p.board.filters[f.name]; ok {
		return known
	}
	f.admitted = map[string]bool{}
	p.board.filters[f.name] = f
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
func (f *nodeFilter) countsPlanned(p *placements, n *node) bool {
	if f == nil {
		return true
	}
	pool := p.offers.configOf(n.column).pool
	if f.honorTaints && !scheduling.ToleratesAll(pool.api.Spec.Template.Spec.Taints, f.tolerations) ||
		slices.ContainsFunc(f.keys, func(key string) bool { return p.plannedValue(n, key) == "" }) {
		return false
	}
	return f.strict == nil || slices.ContainsFunc(f.strict, func(a scheduling.Requirements) bool {
		set, _ := p.offers.sets.meeting(pool, a)
		return set != nil && set.has(n.column) && intersect(n.open.labels(), a) && p.settlesOn(n, a)
	})
}

// settlesOn reports whether the labels that the node's claim has to settle come out as the requirements want them.
func (p *placements) settlesOn(n *node, a scheduling.Requirements) bool {
	for key, want := range a {
		if scheduling.IsWellKnown(key) || isOfferingKey(key) {
			continue
		}
		if value := p.plannedValue(n, key); value != "" && !want.Has(value) {
			return false
		}
	}
	return true
}

// admits reports whether the demand's pods may come to be on nodes that count.
func (f *nodeFilter) admits(d *demand) bool {
	if f.strict == nil || d.shape.placement == f.placement {
		return true
	}
	if known, ok := f.admitted[d.shape.placement]; ok {
		return known
	}
	admitted := len(combined(d.shape.strict, f.strict)) > 0
	f.admitted[d.shape.placement] = admitted
	return admitted
}

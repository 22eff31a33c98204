package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// NodeAlternatives returns the label requirements of a pod's node selector and required node
// affinity, of which a node has to meet one. The error names the field that cannot be met or read.
func NodeAlternatives(spec *corev1.PodSpec) ([]scheduling.Requirements, error) {
	selector := scheduling.FromLabels(spec.NodeSelector)
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil ||
		spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return []scheduling.Requirements{selector}, nil
	}
	const field = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
	var alternatives []scheduling.Requirements
	for i, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(term.MatchExpressions) == 0 && len(term.MatchFields) == 0 {
			continue // Kubernetes: an empty term matches no node.
		}
		requirements, err := scheduling.FromNodeSelectorTerm(term)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", field, i, err)
		}
		requirements.Merge(selector)
		alternatives = append(alternatives, requirements)
	}
	if len(alternatives) == 0 {
		return nil, fmt.Errorf("%s has no term that could match a node: add matchExpressions", field)
	}
	return alternatives, nil
}

// preferredAlternatives narrows the alternatives by the preferred node affinity term of the
// greatest weight. Karpenter also requires one preferred term at a time.
func preferredAlternatives(spec *corev1.PodSpec, alternatives *Alternatives) (*Alternatives, error) {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return alternatives, nil
	}
	terms := spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	if len(terms) == 0 {
		return alternatives, nil
	}
	i := heaviestTerm(terms, weightOfNodeTerm)
	if len(terms[i].Preference.MatchExpressions)+len(terms[i].Preference.MatchFields) == 0 {
		return alternatives, nil // An empty term prefers no node.
	}
	preferred, err := scheduling.FromNodeSelectorTerm(terms[i].Preference)
	if err != nil {
		return nil, fmt.Errorf(
			"spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[%d].preference: %w",
			i,
			err,
		)
	}
	return Combine(alternatives.List(), []scheduling.Requirements{preferred}), nil
}

// PreferredNodeTerms are the label requirements of the preferred node affinity that the group may
// follow.
func (g *Group) PreferredNodeTerms() []scheduling.Requirements {
	if !g.Preferences || g.Spec.Affinity == nil || g.Spec.Affinity.NodeAffinity == nil {
		return nil
	}
	var terms []scheduling.Requirements
	for _, term := range g.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		if requirements, err := scheduling.FromNodeSelectorTerm(term.Preference); err == nil {
			terms = append(terms, requirements)
		}
	}
	return terms
}

package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// NodeAlternatives are the requirements that a pod's nodeSelector and required node affinity make,
// of which a node has to meet one. The error names the field.
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
			continue // matches no node, as Kubernetes has it
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

// preferredAlternatives narrows the alternatives by the heaviest preferred term of node affinity.
func preferredAlternatives(spec *corev1.PodSpec, alternatives *Alternatives) (*Alternatives, error) {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return alternatives, nil
	}
	terms := spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	if len(terms) == 0 {
		return alternatives, nil
	}
	i := heaviest(terms, weightOfNodeTerm)
	if len(terms[i].Preference.MatchExpressions)+len(terms[i].Preference.MatchFields) == 0 {
		return alternatives, nil // prefers nothing
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

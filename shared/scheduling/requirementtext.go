package scheduling

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// maximumValuesInText is the number of values that String shows. Requirements on instance types may
// have hundreds.
const maximumValuesInText = 5

// Terms returns the requirement in the form of a NodePool or NodeClaim: mostly one term, or several
// terms for several operators. The intersection of the parsed terms is the requirement.
func (r Requirement) Terms() []api.NodeSelectorRequirementWithMinValues {
	terms := r.AppendTerms(nil)
	for i := range terms {
		terms[i].Values = slices.Clone(terms[i].Values)
	}
	return terms
}

// AppendTerms appends the requirement's Terms. They share its values, which the caller must not
// change.
func (r Requirement) AppendTerms(
	terms []api.NodeSelectorRequirementWithMinValues,
) []api.NodeSelectorRequirementWithMinValues {
	add := func(operator corev1.NodeSelectorOperator, values ...string) {
		terms = append(
			terms,
			api.NodeSelectorRequirementWithMinValues{
				Key: r.key, Operator: operator, Values: slices.Clip(values), MinValues: r.minValues,
			},
		)
	}
	switch {
	case !r.complement && r.absent && len(r.values) == 0:
		add(corev1.NodeSelectorOpDoesNotExist)
	case !r.complement:
		add(corev1.NodeSelectorOpIn, r.values...)
	case r.gte != nil || r.lte != nil:
		if r.gte != nil {
			add(api.NodeSelectorOpGte, strconv.FormatInt(*r.gte, 10))
		}
		if r.lte != nil {
			add(api.NodeSelectorOpLte, strconv.FormatInt(*r.lte, 10))
		}
		if len(r.values) > 0 {
			add(corev1.NodeSelectorOpNotIn, r.values...)
		}
	case !r.absent:
		add(corev1.NodeSelectorOpExists)
		if len(r.values) > 0 {
			add(corev1.NodeSelectorOpNotIn, r.values...)
		}
	default:
		add(corev1.NodeSelectorOpNotIn, r.values...)
	}
	return terms
}

// String returns the requirement as text, such as "topology.kubernetes.io/zone In [us-east-1a
// us-east-1b]".
func (r Requirement) String() string {
	var parts []string
	for _, term := range r.Terms() {
		part := string(term.Operator)
		switch {
		case term.Operator == api.NodeSelectorOpGte || term.Operator == api.NodeSelectorOpLte:
			part += " " + term.Values[0]
		case len(term.Values) > maximumValuesInText:
			part += fmt.Sprintf(
				" [%s and %d others]", strings.Join(term.Values[:maximumValuesInText], " "),
				len(term.Values)-maximumValuesInText,
			)
		case len(term.Values) > 0 || term.Operator == corev1.NodeSelectorOpIn || term.Operator == corev1.NodeSelectorOpNotIn:
			part += " [" + strings.Join(term.Values, " ") + "]"
		}
		parts = append(parts, part)
	}
	text := r.key + " " + strings.Join(parts, " and ")
	if r.minValues != nil {
		text += fmt.Sprintf(" minValues %d", *r.minValues)
	}
	return text
}

package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The limits of lists and minValues in the schemas.
const (
	maxRequirements = 100
	maxLabels       = 100
	maxMinValues    = 50
)

// operators returns the possible operators of a requirement.
func operators() []corev1.NodeSelectorOperator {
	return []corev1.NodeSelectorOperator{
		corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist,
		corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, NodeSelectorOpGte, NodeSelectorOpLte,
	}
}

// validateRequirements checks a list of requirements of a claim, or with ofPool of a node pool. A
// claim may require its pool; a pool may not.
func (f *findings) validateRequirements(path string, requirements []NodeSelectorRequirementWithMinValues, ofPool bool) {
	if len(requirements) > maxRequirements {
		f.addField(path, "has %d entries: remove all but %d", len(requirements), maxRequirements)
	}
	for i, requirement := range requirements {
		at := fmt.Sprintf("%s[%d]", path, i)
		if ofPool && requirement.Key == NodePoolLabelKey {
			f.add(at+".key", requirement.Key, "is set by the pool itself: remove the requirement")
		}
		f.validateRequirement(at, requirement)
	}
}

func (f *findings) validateRequirement(path string, r NodeSelectorRequirementWithMinValues) {
	f.validateLabelKey(path+".key", NormalizedLabel(r.Key))
	if r.MinValues != nil && (*r.MinValues < 1 || *r.MinValues > maxMinValues) {
		f.add(path+".minValues", *r.MinValues, "is out of range: use a number from 1 to %d", maxMinValues)
	}
	switch r.Operator {
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, NodeSelectorOpGte, NodeSelectorOpLte:
		f.validateNumeric(path, r)
		return
	case corev1.NodeSelectorOpIn:
		f.validateIn(path, r)
	case corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
	default:
		f.choose(path+".operator", string(r.Operator), texts(operators()), "is not an operator: use one of %s",
			join(operators()))
	}
	for i, value := range r.Values {
		f.validateLabelValue(fmt.Sprintf("%s.values[%d]", path, i), value)
	}
}

func (f *findings) validateIn(path string, r NodeSelectorRequirementWithMinValues) {
	if len(r.Values) == 0 {
		f.addField(path+".values", "is empty: the operator In on %q needs at least one value", r.Key)
		return
	}
	if r.MinValues != nil && len(r.Values) < *r.MinValues {
		f.add(path+".minValues", *r.MinValues,
			"is more than the %d values of the requirement: add values or lower it", len(r.Values))
		return
	}
	known := knownValues(NormalizedLabel(r.Key))
	if known == nil {
		return
	}
	valid := 0
	for _, value := range r.Values {
		if slices.Contains(known, value) {
			valid++
		}
	}
	switch {
	case valid == 0:
		f.choose(path+".values", r.Values, known, "has no value that %q can have: use some of %s", r.Key, join(known))
	case r.MinValues != nil && valid < *r.MinValues:
		f.add(path+".minValues", *r.MinValues,
			"is more than the %d values that %q can have: use some of %s", valid, r.Key, join(known))
	}
}

func (f *findings) validateNumeric(path string, r NodeSelectorRequirementWithMinValues) {
	if len(r.Values) != 1 {
		f.add(path+".values", r.Values, "has %d values: the operator %s on %q needs exactly one, an integer of zero or more",
			len(r.Values), r.Operator, r.Key)
		return
	}
	if _, err := strconv.ParseUint(r.Values[0], 10, 63); err != nil {
		f.add(path+".values[0]", r.Values[0],
			"is no integer of zero or more, which the operator %s on %q needs", r.Operator, r.Key)
	}
}

// validateLabels checks the labels in a pool's template.
func (f *findings) validateLabels(path string, labels map[string]string) {
	if len(labels) > maxLabels {
		f.addField(path, "has %d entries: remove all but %d", len(labels), maxLabels)
	}
	for _, key := range sortedKeys(labels) {
		at := fmt.Sprintf("%s[%s]", path, key)
		if key == NodePoolLabelKey {
			f.add(at, labels[key], "is set by the pool itself: remove the label")
		}
		f.validateLabelKey(at, key)
		f.validateLabelValue(at, labels[key])
	}
}

func (f *findings) validateLabelKey(path, key string) {
	for _, problem := range validation.IsQualifiedName(key) {
		f.add(path, key, "is not a label key: %s", problem)
	}
	if IsRestrictedLabel(key) {
		f.choose(path, key, WellKnownLabels(),
			"cannot be chosen, it is set at the launch: use a label of your own domain or one of %s", join(WellKnownLabels()))
	}
}

func (f *findings) validateLabelValue(path, value string) {
	for _, problem := range validation.IsValidLabelValue(value) {
		f.add(path, value, "is not a label value: %s", problem)
	}
}

// join returns the words as a list for a message.
func join[T ~string](words []T) string { return strings.Join(texts(words), ", ") }

func texts[T ~string](words []T) []string {
	plain := make([]string, len(words))
	for i, word := range words {
		plain[i] = string(word)
	}
	return plain
}

// sortedKeys returns a map's keys in order, so that messages have a stable order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

package scheduling

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// Requirements are one Requirement for each label key that matters, by normalised key. The zero value is ready to read; make one to Add to it.
type Requirements map[string]Requirement

// NewRequirements is the intersection of the requirements, key by key.
func NewRequirements(requirements ...Requirement) Requirements {
	rs := make(Requirements, len(requirements))
	rs.Add(requirements...)
	return rs
}

// FromLabels demands exactly these labels.
func FromLabels(labels map[string]string) Requirements {
	rs := make(Requirements, len(labels))
	for key, value := range labels {
		rs.Add(In(key, value))
	}
	return rs
}

// FromNodeSelectorTerm reads the matchExpressions of a node affinity term, and its matchFields, of which Kubernetes knows metadata.name alone, as a
// requirement on the key "metadata.name". The error names the expression. A term with neither is met by every node here; to Kubernetes, which ORs the terms of a list,
// it is met by none, so that who reads a list leaves such terms out.
func FromNodeSelectorTerm(term corev1.NodeSelectorTerm) (Requirements, error) {
	rs := make(Requirements, len(term.MatchExpressions))
	for _, expression := range slices.Concat(term.MatchExpressions, term.MatchFields) {
		r, err := ParseRequirement(expression.Key, expression.Operator, expression.Values...)
		if err != nil {
			return nil, err
		}
		rs.Add(r)
	}
	return rs, nil
}

// Add narrows the requirements by further ones.
func (rs Requirements) Add(requirements ...Requirement) {
	for _, r := range requirements {
		if present, ok := rs[r.key]; ok {
			r = present.Intersection(r)
		}
		rs[r.key] = r
	}
}

// Merge narrows the requirements by all of other.
func (rs Requirements) Merge(other Requirements) {
	for _, r := range other {
		rs.Add(r)
	}
}

// Clone copies the requirements, so that Add to one leaves the other alone.
func (rs Requirements) Clone() Requirements {
	if rs == nil {
		return Requirements{}
	}
	return maps.Clone(rs)
}

// Keys are the keys, sorted.
func (rs Requirements) Keys() []string { return slices.Sorted(maps.Keys(rs)) }

// Undefined reports whether a node still to be made may come to have any value of a label that its side does not mention; where it does not, the label
// is absent. The key it is given is normalised. A nil Undefined is UndefinedIsAbsent.
type Undefined func(key string) bool

// UndefinedIsAbsent is the Undefined of a node that exists: a label that it does not have is absent.
func UndefinedIsAbsent(string) bool { return false }

// UndefinedWellKnownIsAny is the Undefined of a node still to be made: a well-known label may come to have any value, another label is absent.
func UndefinedWellKnownIsAny(key string) bool { return wellKnown[key] }

// UndefinedAnyOf is UndefinedWellKnownIsAny with further keys that pods may ask for although no NodePool defines them.
func UndefinedAnyOf(extra []string) Undefined {
	if len(extra) == 0 {
		return UndefinedWellKnownIsAny
	}
	further := make(map[string]bool, len(extra))
	for _, key := range extra {
		further[NormalizeKey(key)] = true
	}
	return func(key string) bool { return wellKnown[key] || further[key] }
}

func (u Undefined) isAny(key string) bool { return u != nil && u(key) }

// Compatible reports, as an error a person can act on, why a node with the requirements rs cannot hold what asks for wanted; nil if it can. Each key
// of wanted must have something in common with the node's; what a missing key means, undefined says.
func (rs Requirements) Compatible(wanted Requirements, undefined Undefined) error {
	for _, key := range wanted.Keys() {
		want := wanted[key]
		have, ok := rs[key]
		if ok {
			if !have.Intersects(want) {
				return fmt.Errorf("%s is wanted, and nodes here have %s", want, have)
			}
			continue
		}
		if want.absent || undefined.isAny(key) {
			continue
		}
		return fmt.Errorf("label %q is not known here%s", key, rs.hint(key, undefined))
	}
	return nil
}

// IsCompatible is Compatible(wanted, undefined) == nil without the work of explaining.
func (rs Requirements) IsCompatible(wanted Requirements, undefined Undefined) bool {
	for key, want := range wanted {
		if have, ok := rs[key]; ok {
			if !have.Intersects(want) {
				return false
			}
		} else if !want.absent && !undefined.isAny(key) {
			return false
		}
	}
	return true
}

func (rs Requirements) hint(key string, undefined Undefined) string {
	known := func(yield func(string) bool) {
		for candidate := range rs {
			if !yield(candidate) {
				return
			}
		}
		for candidate := range wellKnown {
			if undefined.isAny(candidate) && !yield(candidate) {
				return
			}
		}
	}
	if near := nearestKey(key, known); near != "" {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ""
}

// Labels are the labels whose value is decided: the keys for which exactly one value is left.
func (rs Requirements) Labels() map[string]string {
	labels := map[string]string{}
	for key, r := range rs {
		if value, ok := r.Single(); ok {
			labels[key] = value
		}
	}
	return labels
}

// Terms are the terms of all requirements, sorted by key.
func (rs Requirements) Terms() []api.NodeSelectorRequirementWithMinValues {
	terms := make([]api.NodeSelectorRequirementWithMinValues, 0, len(rs))
	for _, key := range rs.Keys() {
		terms = append(terms, rs[key].Terms()...)
	}
	return terms
}

// String lists the requirements sorted by key.
func (rs Requirements) String() string {
	parts := make([]string, 0, len(rs))
	for _, key := range rs.Keys() {
		parts = append(parts, rs[key].String())
	}
	return strings.Join(parts, ", ")
}

// FromTerms is the intersection of the terms. The error names the term's key.
func FromTerms(terms []api.NodeSelectorRequirementWithMinValues) (Requirements, error) {
	rs := make(Requirements, len(terms))
	for _, term := range terms {
		r, err := ParseRequirement(term.Key, term.Operator, term.Values...)
		if err != nil {
			return nil, err
		}
		r.minValues = term.MinValues
		rs.Add(r)
	}
	return rs, nil
}

// MarshalJSON writes the requirements as a list of key, operator, values and minValues sorted by key, the form of a NodePool's requirements.
func (rs Requirements) MarshalJSON() ([]byte, error) {
	return json.Marshal(rs.Terms())
}

// UnmarshalJSON reads what MarshalJSON writes, and any NodePool's list of requirements; several terms of one key are intersected.
func (rs *Requirements) UnmarshalJSON(data []byte) error {
	var terms []api.NodeSelectorRequirementWithMinValues
	if err := json.Unmarshal(data, &terms); err != nil {
		return fmt.Errorf("reading requirements: %w", err)
	}
	result, err := FromTerms(terms)
	if err != nil {
		return fmt.Errorf("reading requirements: %w", err)
	}
	*rs = result
	return nil
}

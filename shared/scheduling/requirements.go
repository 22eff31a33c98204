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

// Requirements holds one Requirement for each restricted label, by normalised key. The zero value
// can be read, but not added to.
type Requirements map[string]Requirement

// NewRequirements returns the intersection of the requirements for each key.
func NewRequirements(requirements ...Requirement) Requirements {
	rs := make(Requirements, len(requirements))
	rs.Add(requirements...)
	return rs
}

// FromLabels requires exactly these labels.
func FromLabels(labels map[string]string) Requirements {
	rs := make(Requirements, len(labels))
	for key, value := range labels {
		rs.Add(In(key, value))
	}
	return rs
}

// FromNodeSelectorTerm converts the matchExpressions of a node affinity term, and its matchFields
// with the key metadata.name. The error names the expression. A term with neither converts to no
// requirement, which matches every node. In a list of terms, Kubernetes matches such a term with no
// node, so callers must drop it.
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

// Add restricts the requirements further.
func (rs Requirements) Add(requirements ...Requirement) {
	for _, r := range requirements {
		if present, ok := rs[r.key]; ok {
			r = present.Intersection(r)
		}
		rs[r.key] = r
	}
}

// Merge restricts the requirements by all of other.
func (rs Requirements) Merge(other Requirements) {
	for _, r := range other {
		rs.Add(r)
	}
}

// Clone returns a copy that Add does not share.
func (rs Requirements) Clone() Requirements {
	if rs == nil {
		return Requirements{}
	}
	return maps.Clone(rs)
}

// Keys returns the keys, sorted.
func (rs Requirements) Keys() []string { return slices.Sorted(maps.Keys(rs)) }

// Undefined reports whether a future node may have any value of a label that its requirements do
// not mention. Where it returns false, the label is absent. Its argument is a normalised key. A nil
// Undefined is UndefinedIsAbsent.
type Undefined func(key string) bool

// UndefinedIsAbsent is the Undefined of an existing node: a label that it does not have is absent.
func UndefinedIsAbsent(string) bool { return false }

// UndefinedWellKnownIsAny is the Undefined of a future node: a well-known label may have any value,
// another label is absent.
func UndefinedWellKnownIsAny(key string) bool { return wellKnown[key] }

// UndefinedAnyOf is UndefinedWellKnownIsAny with further keys that pods may require although no
// NodePool defines them.
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

// Compatible returns nil if a node with the requirements rs can meet the wanted ones, else an error
// that a person can act on. For each wanted key both must allow a common value. The argument
// undefined interprets keys that rs does not have.
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

// IsCompatible reports whether Compatible returns nil. It does not build an error.
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

// Labels returns the labels with exactly one allowed value.
func (rs Requirements) Labels() map[string]string {
	labels := map[string]string{}
	for key, r := range rs {
		if value, ok := r.Single(); ok {
			labels[key] = value
		}
	}
	return labels
}

// Terms returns the terms of all requirements, sorted by key.
func (rs Requirements) Terms() []api.NodeSelectorRequirementWithMinValues {
	terms := make([]api.NodeSelectorRequirementWithMinValues, 0, len(rs))
	for _, key := range rs.Keys() {
		terms = append(terms, rs[key].Terms()...)
	}
	return terms
}

// String returns the requirements as text, sorted by key.
func (rs Requirements) String() string {
	parts := make([]string, 0, len(rs))
	for _, key := range rs.Keys() {
		parts = append(parts, rs[key].String())
	}
	return strings.Join(parts, ", ")
}

// FromTerms returns the intersection of the terms. The error names the term's key.
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

// MarshalJSON writes the form of a NodePool's requirements: a list of key, operator, values and
// minValues, sorted by key.
func (rs Requirements) MarshalJSON() ([]byte, error) {
	return json.Marshal(rs.Terms())
}

// UnmarshalJSON reads the list of a NodePool's requirements. Several terms of one key are
// intersected.
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

package podrules

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/whittle-dev/whittle/functions/console/document"
)

// spread checks the topology spread constraints.
func (f *findings) spread() {
	type kind struct {
		key    string
		action corev1.UnsatisfiableConstraintAction
	}
	seen := map[kind]bool{}
	for i := range f.Spec.TopologySpreadConstraints {
		c := &f.Spec.TopologySpreadConstraints[i]
		at := func(field string) []any { return []any{"topologySpreadConstraints", i, field} }
		if c.MaxSkew <= 0 {
			f.add(fmt.Sprintf("%d: want one or more", c.MaxSkew), at("maxSkew")...)
		}
		switch {
		case c.TopologyKey == "":
			f.add("is missing", at("topologyKey")...)
		case seen[kind{c.TopologyKey, c.WhenUnsatisfiable}]:
			f.add(fmt.Sprintf("%s: another constraint with %s has it", c.TopologyKey, c.WhenUnsatisfiable), at("topologyKey")...)
		}
		seen[kind{c.TopologyKey, c.WhenUnsatisfiable}] = true
		switch {
		case c.MinDomains != nil && *c.MinDomains <= 0:
			f.add(fmt.Sprintf("%d: want one or more", *c.MinDomains), at("minDomains")...)
		case c.MinDomains != nil && c.WhenUnsatisfiable != corev1.DoNotSchedule:
			f.add(fmt.Sprintf("%d: goes with whenUnsatisfiable: DoNotSchedule only", *c.MinDomains), at("minDomains")...)
		}
		f.selector(c.LabelSelector, at("labelSelector")...)
		f.labelKeys(c.MatchLabelKeys, c.LabelSelector, at("matchLabelKeys")...)
	}
}

// labelKeys checks keys whose values the pod's labels add to a selector.
func (f *findings) labelKeys(keys []string, selector *metav1.LabelSelector, steps ...any) {
	if len(keys) > 0 && selector == nil {
		f.add("goes with a labelSelector only", steps...)
		return
	}
	for i, key := range keys {
		names := func(r metav1.LabelSelectorRequirement) bool { return r.Key == key }
		if _, ok := selector.MatchLabels[key]; ok || slices.ContainsFunc(selector.MatchExpressions, names) {
			f.add(key+": the labelSelector has it, too", append(slices.Clone(steps), i)...)
		}
	}
}

// affinity checks the terms between pods and the preferences for nodes.
func (f *findings) affinity() {
	if selector := f.Spec.NodeSelector; len(selector) > 0 {
		f.selector(&metav1.LabelSelector{MatchLabels: selector}, "nodeSelector")
	}
	a := f.Spec.Affinity
	if a == nil {
		return
	}
	if a.NodeAffinity != nil {
		f.nodeAffinity(a.NodeAffinity)
	}
	if a.PodAffinity != nil {
		f.podTerms(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
			a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution, "podAffinity")
	}
	if a.PodAntiAffinity != nil {
		f.podTerms(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, "podAntiAffinity")
	}
}

const (
	required  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferred = "preferredDuringSchedulingIgnoredDuringExecution"
)

func (f *findings) nodeAffinity(a *corev1.NodeAffinity) {
	path := []any{"affinity", "nodeAffinity"}
	if s := a.RequiredDuringSchedulingIgnoredDuringExecution; s != nil {
		at := append(slices.Clone(path), required, "nodeSelectorTerms")
		if len(s.NodeSelectorTerms) == 0 {
			f.add("is empty: want one or more", at...)
		} else if _, err := nodeaffinity.NewNodeSelector(s); err != nil {
			f.add(err.Error(), at...)
		}
	}
	for i, term := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		at := append(slices.Clone(path), preferred, i)
		f.weight(term.Weight, at...)
		s := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term.Preference}}
		if _, err := nodeaffinity.NewNodeSelector(s); err != nil {
			f.add(err.Error(), append(at, "preference")...)
		}
	}
}

// podTerms checks the terms of affinity or anti-affinity.
func (f *findings) podTerms(needed []corev1.PodAffinityTerm, wanted []corev1.WeightedPodAffinityTerm, kind string) {
	for i := range needed {
		f.podTerm(&needed[i], "affinity", kind, required, i)
	}
	for i := range wanted {
		f.weight(wanted[i].Weight, "affinity", kind, preferred, i)
		f.podTerm(&wanted[i].PodAffinityTerm, "affinity", kind, preferred, i, "podAffinityTerm")
	}
}

func (f *findings) weight(weight int32, steps ...any) {
	if weight < 1 || weight > 100 {
		f.add(fmt.Sprintf("%d: want a number from 1 to 100", weight), append(slices.Clone(steps), "weight")...)
	}
}

func (f *findings) podTerm(term *corev1.PodAffinityTerm, steps ...any) {
	at := func(field string) []any { return append(slices.Clone(steps), field) }
	if term.TopologyKey == "" {
		f.add("is missing", at("topologyKey")...)
	}
	f.selector(term.LabelSelector, at("labelSelector")...)
	f.selector(term.NamespaceSelector, at("namespaceSelector")...)
	f.labelKeys(term.MatchLabelKeys, term.LabelSelector, at("matchLabelKeys")...)
	f.labelKeys(term.MismatchLabelKeys, term.LabelSelector, at("mismatchLabelKeys")...)
}

// selector checks a selector of labels, which may be nil.
func (f *findings) selector(selector *metav1.LabelSelector, steps ...any) {
	for _, err := range validation.ValidateLabelSelector(selector, validation.LabelSelectorValidationOptions{}, nil) {
		path := append(f.Path.With(steps...), document.ParsePath(err.Field)...)
		f.problems = append(f.problems, document.Problem{Path: path, Text: err.ErrorBody()})
	}
}

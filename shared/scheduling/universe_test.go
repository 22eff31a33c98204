package scheduling

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// everyValue stands for all the values that a label can have, as far as requirements that name the
// first few of them can tell values apart: each other one is like one of the rest. An integer is
// there once as it is named and once written otherwise, since no requirement forbids all ways to
// write one.
var everyValue = []string{
	"", "a", "0", "1", "2", "02",
	"like no other", "9223372036854775808", "-9223372036854775808", "-2", "-1", "-0", "+0", "01", "+1", "002",
	"3", "03", "4", "9223372036854775807", "09223372036854775807", "-09223372036854775808", "-02", "-01", "04",
	"1.5",
}

// named is how many of everyValue requirements name.
const named = 6

// set is a requirement as a plain set: a bit for each of everyValue, and one for "no such label".
type set uint32

const absentBit = set(1) << 31

func setOf(term api.NodeSelectorRequirementWithMinValues) set {
	var s set
	for i, value := range everyValue {
		if (model{operator: term.Operator, values: term.Values}).has(value) {
			s |= 1 << i
		}
	}
	if (model{operator: term.Operator}).allowsAbsent() {
		s |= absentBit
	}
	return s
}

// everyRequirement are all requirements of one operator over the named values and bounds around
// them, and what any two of them leave.
func everyRequirement(t *testing.T) map[string]set {
	t.Helper()
	var terms []api.NodeSelectorRequirementWithMinValues
	for subset := range 1 << named {
		var values []string
		for i := range named {
			if subset>>i&1 == 1 {
				values = append(values, everyValue[i])
			}
		}
		if len(values) > 3 {
			continue
		}
		terms = append(terms, api.NodeSelectorRequirementWithMinValues{
			Key: "key", Operator: corev1.NodeSelectorOpIn, Values: values,
		},
			api.NodeSelectorRequirementWithMinValues{Key: "key", Operator: corev1.NodeSelectorOpNotIn, Values: values})
	}
	terms = append(terms, api.NodeSelectorRequirementWithMinValues{Key: "key", Operator: corev1.NodeSelectorOpExists},
		api.NodeSelectorRequirementWithMinValues{Key: "key", Operator: corev1.NodeSelectorOpDoesNotExist})
	for _, operator := range []corev1.NodeSelectorOperator{
		corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, api.NodeSelectorOpGte, api.NodeSelectorOpLte,
	} {
		for _, bound := range []int64{math.MinInt64, -1, 0, 1, 2, 3, math.MaxInt64} {
			terms = append(
				terms,
				api.NodeSelectorRequirementWithMinValues{
					Key: "key", Operator: operator, Values: []string{strconv.FormatInt(bound, 10)},
				},
			)
		}
	}
	sets := map[string]set{}
	for i, a := range terms {
		for _, b := range terms[i:] {
			text, err := json.Marshal([]api.NodeSelectorRequirementWithMinValues{a, b})
			if err != nil {
				t.Fatal(err)
			}
			sets[string(text)] = setOf(a) & setOf(b)
		}
	}
	return sets
}

// TestEveryPair checks the algebra against plain sets: every requirement of a small universe by
// itself, and each with each.
func TestEveryPair(t *testing.T) {
	type entry struct {
		r Requirement
		s set
	}
	byForm := map[string]entry{}
	for text, s := range everyRequirement(t) {
		var rs Requirements
		if err := json.Unmarshal([]byte(text), &rs); err != nil {
			t.Fatal(err)
		}
		r := rs["key"]
		form, err := json.Marshal(rs)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := byForm[string(form)]; ok && other.s != s {
			t.Fatalf("%s means two sets", form)
		}
		byForm[string(form)] = entry{r, s}
		for i, value := range everyValue {
			if r.Has(value) != (s>>i&1 == 1) {
				t.Fatalf("%s is read as %s: Has(%q) is %t", text, r, value, r.Has(value))
			}
		}
		if r.AllowsAbsent() != (s&absentBit != 0) {
			t.Fatalf("%s is read as %s: AllowsAbsent is %t", text, r, r.AllowsAbsent())
		}
		if r.Empty() != (s == 0) {
			t.Fatalf("%s is read as %s: Empty is %t", text, r, r.Empty())
		}
		single, isSingle := r.Single()
		if only := slices.IndexFunc(
			everyValue, func(v string) bool { return r.Has(v) },
		); isSingle != (s != 0 && s&(s-1) == 0 && s != absentBit) || isSingle && everyValue[only] != single {
			t.Fatalf("%s is read as %s: Single is %q, %t", text, r, single, isSingle)
		}
		if values, list := r.Values(); list {
			want := make([]string, 0, len(values))
			for i, value := range everyValue {
				if s>>i&1 == 1 {
					want = append(want, value)
				}
			}
			slices.Sort(want)
			if !slices.Equal(values, want) {
				t.Fatalf("%s is read as %s: Values are %q, want %q", text, r, values, want)
			}
		}
	}
	entries := make([]entry, 0, len(byForm))
	for _, form := range slices.Sorted(func(yield func(string) bool) {
		for form := range byForm {
			if !yield(form) {
				return
			}
		}
	}) {
		entries = append(entries, byForm[form])
	}
	t.Logf("%d requirements", len(entries))
	for _, a := range entries {
		for _, b := range entries {
			want := a.s & b.s
			if a.r.Intersects(b.r) != (want != 0) {
				t.Fatalf("%s and %s: Intersects is %t", a.r, b.r, want == 0)
			}
			if a.r.SubsetOf(b.r) != (a.s&^b.s == 0) {
				t.Fatalf("%s and %s: SubsetOf is %t", a.r, b.r, a.s&^b.s != 0)
			}
			both := a.r.Intersection(b.r)
			if both.Empty() != (want == 0) || both.AllowsAbsent() != (want&absentBit != 0) {
				t.Fatalf("%s and %s give %s: Empty is %t, AllowsAbsent %t", a.r, b.r, both, both.Empty(), both.AllowsAbsent())
			}
			for i, value := range everyValue {
				if both.Has(value) != (want>>i&1 == 1) {
					t.Fatalf("%s and %s give %s: Has(%q) is %t", a.r, b.r, both, value, both.Has(value))
				}
			}
		}
	}
}

// TestCompatibleIsIntersection checks, with every pair, that a node's requirements go with a pod's
// exactly if some label value, or none, suits both; Karpenter's rule (an empty intersection of
// values is an error unless both sides are NotIn or DoesNotExist) comes to the same.
func TestCompatibleIsIntersection(t *testing.T) {
	operators := []Requirement{
		In("key", "a"), In("key", "b"), In("key", "a", "b"), In("key", "1"), NotIn("key", "a"),
		NotIn("key", "a", "b"), NotIn("key"), Exists("key"), DoesNotExist("key"),
	}
	mayBeAbsent := func(r Requirement) bool { return r.AllowsAbsent() }
	for _, node := range operators {
		for _, pod := range operators {
			values := false
			for _, value := range []string{"a", "b", "1", "other"} {
				values = values || node.Has(value) && pod.Has(value)
			}
			want := values || mayBeAbsent(node) && mayBeAbsent(pod)
			err := NewRequirements(node).Compatible(NewRequirements(pod), UndefinedIsAbsent)
			if (err == nil) != want {
				t.Errorf("a node with %s and a pod that asks for %s: %v", node, pod, err)
			}
		}
	}
}

func TestUndefined(t *testing.T) {
	further := UndefinedAnyOf([]string{"example.com/rack", "failure-domain.beta.kubernetes.io/zone"})
	for _, test := range []struct {
		name      string
		undefined Undefined
		key       string
		want      bool
	}{
		{"absent", UndefinedIsAbsent, corev1.LabelTopologyZone, false},
		{"nil is absent", nil, corev1.LabelTopologyZone, false},
		{"well known", UndefinedWellKnownIsAny, corev1.LabelTopologyZone, true},
		{"own", UndefinedWellKnownIsAny, "example.com/rack", false},
		{"further", further, "example.com/rack", true},
		{"further and well known", further, corev1.LabelArchStable, true},
		{"neither", further, "example.com/team", false},
		{"no further", UndefinedAnyOf(nil), corev1.LabelTopologyZone, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			wanted := NewRequirements(In(test.key, "x"))
			err := Requirements{}.Compatible(wanted, test.undefined)
			if (err == nil) != test.want || (Requirements{}).IsCompatible(wanted, test.undefined) != test.want {
				t.Errorf("got %v", err)
			}
		})
	}
}

func FuzzRequirementTerms(f *testing.F) {
	for _, seed := range []string{
		`[{"key":"k","operator":"In","values":["a","b"]},{"key":"k","operator":"NotIn","values":["a"]}]`,
		`[{"key":"k","operator":"Gt","values":["3"]},{"key":"k","operator":"Lt","values":["5"]},{"key":"k","operator":"NotIn","values":["4","x"],"minValues":2}]`,
		`[{"key":"k","operator":"Gte","values":["-9223372036854775808"]},{"key":"k","operator":"Lte","values":["9223372036854775807"]}]`,
		`[{"key":"k","operator":"Gt","values":["9223372036854775807"]},{"key":"k","operator":"DoesNotExist"}]`,
		`[{"key":"k","operator":"Lt","values":["007"]},{"key":"k","operator":"In","values":["007","+1","-0","1e3"]}]`,
		`[{"key":"beta.kubernetes.io/arch","operator":"Exists"},{"key":"kubernetes.io/arch","operator":"NotIn"},{"key":"topology.ebs.csi.aws.com/zone","operator":"In","values":["a"]}]`,
		`[{"key":"","operator":"","values":null,"minValues":-1}]`, `[]`, `null`, `{}`,
	} {
		f.Add(seed, "a", "4")
	}
	f.Fuzz(func(t *testing.T, text, one, other string) {
		var terms []api.NodeSelectorRequirementWithMinValues
		if json.Unmarshal([]byte(text), &terms) != nil {
			return
		}
		rs, err := FromTerms(terms)
		if err != nil {
			return
		}
		for _, value := range []string{one, other, "", "0", "5"} {
			want := map[string]bool{}
			for _, term := range terms {
				key := NormalizeKey(term.Key)
				alone, err := ParseRequirement(term.Key, term.Operator, term.Values...)
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := want[key]; !ok {
					want[key] = true
				}
				want[key] = want[key] && alone.Has(value)
			}
			for key, has := range want {
				if rs[key].Has(value) != has {
					t.Fatalf("%s: %s has %q: %t", text, rs[key], value, !has)
				}
			}
		}
		for _, r := range rs {
			if single, ok := r.Single(); ok && !r.Has(single) {
				t.Fatalf("%s does not have its only value", r)
			}
			if r.Empty() == r.Intersects(r) || !r.SubsetOf(r) ||
				fmt.Sprint(r.Intersection(r).Terms()) != fmt.Sprint(r.Terms()) && !sameTerms(r.Intersection(r), r) {
				t.Fatalf(
					"%s and itself: Empty %t, Intersects %t, SubsetOf %t, Intersection %s", r, r.Empty(), r.Intersects(r),
					r.SubsetOf(r), r.Intersection(r),
				)
			}
		}
		written, err := json.Marshal(rs)
		if err != nil {
			t.Fatal(err)
		}
		var again Requirements
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%s does not read back: %v", written, err)
		}
		if rewritten, err := json.Marshal(again); err != nil || string(rewritten) != string(written) {
			t.Fatalf("%s reads back as %s (%v)", written, rewritten, err)
		}
	})
}

// sameTerms compares what is written, pointers to minValues aside.
func sameTerms(a, b Requirement) bool {
	x, _ := json.Marshal(a.Terms())
	y, _ := json.Marshal(b.Terms())
	return string(x) == string(y)
}

package scheduling

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// universe are the values that random requirements speak of, and some that they do not.
var universe = []string{"", "a", "b", "c", "-1", "0", "1", "2", "3", "4", "007", "other"}

// model is a requirement as a person would check it: by its operators, one at a time.
type model struct {
	operator corev1.NodeSelectorOperator
	values   []string
}

func (m model) has(value string) bool {
	number := func(text string) (int64, bool) {
		n, ok := new(big.Int).SetString(text, 10)
		if !ok || !n.IsInt64() {
			return 0, false
		}
		return n.Int64(), true
	}
	switch m.operator {
	case corev1.NodeSelectorOpIn:
		return slices.Contains(m.values, value)
	case corev1.NodeSelectorOpNotIn:
		return !slices.Contains(m.values, value)
	case corev1.NodeSelectorOpExists:
		return true
	case corev1.NodeSelectorOpDoesNotExist:
		return false
	}
	n, ok := number(value)
	bound, _ := number(m.values[0])
	switch m.operator {
	case corev1.NodeSelectorOpGt:
		return ok && n > bound
	case corev1.NodeSelectorOpLt:
		return ok && n < bound
	case api.NodeSelectorOpGte:
		return ok && n >= bound
	}
	return ok && n <= bound
}

func (m model) allowsAbsent() bool {
	return m.operator == corev1.NodeSelectorOpNotIn || m.operator == corev1.NodeSelectorOpDoesNotExist
}

func randomModel(random *rand.Rand) model {
	operators := []corev1.NodeSelectorOperator{
		corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
		corev1.NodeSelectorOpDoesNotExist,
		corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, api.NodeSelectorOpGte, api.NodeSelectorOpLte,
	}
	m := model{operator: operators[random.IntN(len(operators))]}
	switch m.operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		for range 1 + random.IntN(4) {
			m.values = append(m.values, universe[random.IntN(len(universe))])
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
	default:
		m.values = []string{fmt.Sprint(random.IntN(5))}
	}
	return m
}

// TestAlgebra compares intersections of up to three random requirements with checking each of them
// by itself.
func TestAlgebra(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		var models []model
		result := NotIn("key")
		for range 1 + random.IntN(3) {
			m := randomModel(random)
			models = append(models, m)
			r, err := ParseRequirement("key", m.operator, m.values...)
			if err != nil {
				t.Fatal(err)
			}
			a, b := result.Intersection(r), r.Intersection(result)
			if a.String() != b.String() {
				t.Fatalf("%s and %s: %s one way, %s the other", result, r, a, b)
			}
			if result.Intersects(r) != r.Intersects(result) || result.Intersects(r) == a.Empty() {
				t.Fatalf("%s and %s: Intersects says %t of %s", result, r, result.Intersects(r), a)
			}
			if !a.SubsetOf(result) || !a.SubsetOf(r) {
				t.Fatalf("%s is no subset of %s and %s", a, result, r)
			}
			result = a
		}
		empty := true
		for _, value := range universe {
			want := true
			for _, m := range models {
				want = want && m.has(value)
			}
			empty = empty && !want
			if result.Has(value) != want {
				t.Fatalf("%v gives %s: Has(%q) is %t", models, result, value, !want)
			}
		}
		absent := true
		for _, m := range models {
			absent = absent && m.allowsAbsent()
		}
		if result.AllowsAbsent() != absent {
			t.Fatalf("%v gives %s: AllowsAbsent is %t", models, result, !absent)
		}
		if result.Empty() && (!empty || absent) {
			t.Fatalf("%v gives %s, which says it is empty", models, result)
		}
		again, err := FromTerms(result.Terms())
		if err != nil || again["key"].String() != result.String() {
			t.Fatalf("%s written as %v and read back is %s (%v)", result, result.Terms(), again["key"], err)
		}
	}
}

// TestSubset compares SubsetOf with checking each value.
func TestSubset(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		a, b := randomModel(random), randomModel(random)
		x, _ := ParseRequirement("key", a.operator, a.values...)
		y, _ := ParseRequirement("key", b.operator, b.values...)
		subset := !x.AllowsAbsent() || y.AllowsAbsent()
		for _, value := range universe {
			subset = subset && (!x.Has(value) || y.Has(value))
		}
		if x.SubsetOf(y) && !subset {
			t.Fatalf("%s is no subset of %s", x, y)
		}
		if _, list := x.Values(); list && subset != x.SubsetOf(y) {
			t.Fatalf("%s is a subset of %s", x, y)
		}
	}
}

func TestRequirementText(t *testing.T) {
	gte, err := ParseRequirement("cpu", corev1.NodeSelectorOpGt, "3")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		r    Requirement
		want string
	}{
		{In("zone", "b", "a", "a"), "zone In [a b]"},
		{NotIn("zone", "a"), "zone NotIn [a]"},
		{Exists("zone"), "zone Exists"},
		{DoesNotExist("zone"), "zone DoesNotExist"},
		{Exists("zone").Intersection(NotIn("zone", "a")), "zone Exists and NotIn [a]"},
		{gte, "cpu Gte 4"},
		{gte.Intersection(NotIn("cpu", "8")), "cpu Gte 4 and NotIn [8]"},
		{gte.Intersection(NotIn("cpu", "3", "a", "8")), "cpu Gte 4 and NotIn [8]"},
		{In("type", "a", "b", "c", "d", "e", "f", "g"), "type In [a b c d e and 2 others]"},
		{In("zone", "a").Intersection(In("zone", "b")), "zone In []"},
		{In("zone", "a", "b").WithMinValues(2).Intersection(Exists("zone").WithMinValues(1)), "zone In [a b] minValues 2"},
		{In("beta.kubernetes.io/arch", "arm64"), "kubernetes.io/arch In [arm64]"},
	} {
		if got := test.r.String(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestParseRequirementErrors(t *testing.T) {
	for _, test := range []struct {
		operator corev1.NodeSelectorOperator
		values   []string
		want     string
	}{
		{"Near", nil, `requirement on "k": operator "Near" is not one of In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte`},
		{corev1.NodeSelectorOpGt, nil, `requirement on "k": operator Gt needs exactly one value, not 0`},
		{
			corev1.NodeSelectorOpGt, []string{"9223372036854775808"},
			`requirement on "k": operator Gt needs an integer of 64 bits, which 9223372036854775808 is not`,
		},
		{corev1.NodeSelectorOpLt, []string{"4", "5"}, `requirement on "k": operator Lt needs exactly one value, not 2`},
		{api.NodeSelectorOpLte, []string{"many"}, `requirement on "k": operator Lte needs an integer, not "many"`},
	} {
		if _, err := ParseRequirement("k", test.operator, test.values...); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
	for operator, bound := range map[corev1.NodeSelectorOperator]string{
		corev1.NodeSelectorOpGt: "9223372036854775807", corev1.NodeSelectorOpLt: "-9223372036854775808",
	} {
		if r, err := ParseRequirement("k", operator, bound); err != nil || !r.Empty() {
			t.Errorf("%s %s is %s (%v), want nothing allowed", operator, bound, r, err)
		}
	}
}

func TestRequirementsJSON(t *testing.T) {
	rs := NewRequirements(In("zone", "a"), NotIn("zone2", "b"), Exists("cpu").WithMinValues(3))
	text, err := json.Marshal(rs)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"key":"cpu","operator":"Exists","minValues":3},{"key":"zone","operator":"In","values":["a"]},{"key":"zone2","operator":"NotIn","values":["b"]}]`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	var again Requirements
	if err := json.Unmarshal(text, &again); err != nil || again.String() != rs.String() {
		t.Errorf("read back %s (%v)", again, err)
	}
	for _, bad := range []string{`{}`, `[{"key":"k","operator":"Gt"}]`} {
		if err := json.Unmarshal([]byte(bad), &again); err == nil {
			t.Errorf("%s is read without an error", bad)
		}
	}
}

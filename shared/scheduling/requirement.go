package scheduling

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// Requirement is the set of allowed values of the label Key, together with whether the label may be
// absent. The values are a list, or all values except a list, within integer bounds. Absence is an
// element of its own, which makes intersections exact: Exists and NotIn together still require the
// label, which NotIn alone does not.
//
// A Requirement is an immutable value.
type Requirement struct {
	key string
	// values are sorted and distinct. They are the allowed values, or with complement the forbidden
	// ones.
	values     []string
	complement bool
	// absent is true where a node without the label is allowed.
	absent bool
	// gte and lte bound the label's value as an integer; a value that is not an integer is outside.
	// Only complements have bounds, because bounds filter a list of values at once.
	gte, lte *int64
	// minValues is Karpenter's minValues: the minimum number of different values among the instance
	// types of a launch, or nil.
	minValues *int
}

// In allows the values. Without values it allows nothing.
func In(key string, values ...string) Requirement {
	return Requirement{key: NormalizeKey(key), values: sorted(values)}
}

// NotIn allows every other value, and absence of the label.
func NotIn(key string, values ...string) Requirement {
	return Requirement{key: NormalizeKey(key), values: sorted(values), complement: true, absent: true}
}

// Exists allows every value.
func Exists(key string) Requirement {
	return Requirement{key: NormalizeKey(key), complement: true}
}

// DoesNotExist allows only absence of the label.
func DoesNotExist(key string) Requirement {
	return Requirement{key: NormalizeKey(key), absent: true}
}

// ParseRequirement parses an operator of the API and its values: In, NotIn, Exists, DoesNotExist,
// and with one integer Gt, Lt, Gte, Lte. It normalises the key. The error names the key and the
// problem.
func ParseRequirement(key string, operator corev1.NodeSelectorOperator, values ...string) (Requirement, error) {
	switch operator {
	case corev1.NodeSelectorOpIn:
		return In(key, values...), nil
	case corev1.NodeSelectorOpNotIn:
		return NotIn(key, values...), nil
	case corev1.NodeSelectorOpExists:
		return Exists(key), nil
	case corev1.NodeSelectorOpDoesNotExist:
		return DoesNotExist(key), nil
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, api.NodeSelectorOpGte, api.NodeSelectorOpLte:
	default:
		return Requirement{}, fmt.Errorf(
			"requirement on %q: operator %q is not one of In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte", key,
			operator,
		)
	}
	if len(values) != 1 {
		return Requirement{}, fmt.Errorf(
			"requirement on %q: operator %s needs exactly one value, not %d", key, operator, len(values),
		)
	}
	bound, err := strconv.ParseInt(values[0], 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return Requirement{}, fmt.Errorf(
			"requirement on %q: operator %s needs an integer of 64 bits, which %s is not", key, operator, values[0],
		)
	}
	if err != nil {
		return Requirement{}, fmt.Errorf("requirement on %q: operator %s needs an integer, not %q", key, operator, values[0])
	}
	r := Exists(key)
	switch operator {
	case corev1.NodeSelectorOpGt:
		if bound == math.MaxInt64 {
			return In(key), nil
		}
		bound++
		r.gte = &bound
	case api.NodeSelectorOpGte:
		r.gte = &bound
	case corev1.NodeSelectorOpLt:
		if bound == math.MinInt64 {
			return In(key), nil
		}
		bound--
		r.lte = &bound
	case api.NodeSelectorOpLte:
		r.lte = &bound
	}
	return r, nil
}

// WithMinValues returns the requirement with Karpenter's minValues: the minimum number of different
// values of the label among the instance types of one launch.
func (r Requirement) WithMinValues(n int) Requirement {
	r.minValues = &n
	return r
}

// Key returns the label's normalised key.
func (r Requirement) Key() string { return r.key }

// MinValues returns the minimum number of different values of a launch, and whether there is one.
func (r Requirement) MinValues() (int, bool) {
	if r.minValues == nil {
		return 0, false
	}
	return *r.minValues, true
}

// Has reports whether the value is allowed.
func (r Requirement) Has(value string) bool {
	_, listed := slices.BinarySearch(r.values, value)
	if listed == r.complement {
		return false
	}
	return r.within(value)
}

// AllowsAbsent reports whether a node without the label is allowed.
func (r Requirement) AllowsAbsent() bool { return r.absent }

// Values returns the allowed values, sorted, and true. It returns false where they are not a list
// (NotIn, Exists, bounds).
func (r Requirement) Values() ([]string, bool) {
	if r.complement {
		return nil, false
	}
	return r.values, true
}

// Single returns the only allowed value, and whether the requirement has exactly one and excludes
// absence.
func (r Requirement) Single() (string, bool) {
	if r.complement || r.absent || len(r.values) != 1 {
		return "", false
	}
	return r.values[0], true
}

// Empty reports whether the requirement allows neither a value nor absence. A complement is never
// empty, even where it forbids every integer between its bounds, because a label may write an
// integer in several ways.
func (r Requirement) Empty() bool {
	if r.absent {
		return false
	}
	if r.complement {
		return r.gte != nil && r.lte != nil && *r.gte > *r.lte
	}
	return len(r.values) == 0
}

// Intersection returns the requirement that allows what both allow. It keeps r's key and the
// greater minValues.
func (r Requirement) Intersection(other Requirement) Requirement {
	result := Requirement{key: r.key, absent: r.absent && other.absent, minValues: greater(r.minValues, other.minValues)}
	switch {
	case r.complement && other.complement:
		result.complement = true
		result.values = union(r.values, other.values)
		result.gte = greater(r.gte, other.gte)
		result.lte = smaller(r.lte, other.lte)
		if result.gte != nil && result.lte != nil && *result.gte > *result.lte {
			// All empty sets have the same form, so that equal sets compare equal.
			result.complement, result.values, result.gte, result.lte = false, nil, nil, nil
		} else if result.gte != nil || result.lte != nil {
			// A value outside the bounds need not be forbidden by name.
			result.values = keep(result.values, result.within)
		}
	case r.complement:
		result.values = keep(other.values, r.Has)
	default:
		result.values = keep(r.values, other.Has)
	}
	return result
}

// Intersects reports whether both allow some element. It does not build the intersection.
func (r Requirement) Intersects(other Requirement) bool {
	if r.absent && other.absent {
		return true
	}
	if r.complement && other.complement {
		gte, lte := greater(r.gte, other.gte), smaller(r.lte, other.lte)
		return gte == nil || lte == nil || *gte <= *lte
	}
	if r.complement {
		return slices.ContainsFunc(other.values, r.Has)
	}
	return slices.ContainsFunc(r.values, other.Has)
}

// SubsetOf reports whether other allows everything that r allows.
func (r Requirement) SubsetOf(other Requirement) bool {
	if r.absent && !other.absent {
		return false
	}
	if !r.complement {
		return !slices.ContainsFunc(r.values, func(v string) bool { return !other.Has(v) })
	}
	if r.gte != nil && r.lte != nil && *r.gte > *r.lte {
		return true
	}
	if !other.complement {
		return false
	}
	return r.boundsWithin(other) && !slices.ContainsFunc(other.values, r.Has)
}

// boundsWithin reports whether the bounds of r, a complement, are at least as narrow as those of
// other.
func (r Requirement) boundsWithin(other Requirement) bool {
	if (other.gte != nil || other.lte != nil) && r.gte == nil && r.lte == nil {
		return false // r allows values that are not integers
	}
	return (other.gte == nil || orLeast(r.gte) >= *other.gte) && (other.lte == nil || orGreatest(r.lte) <= *other.lte)
}

func orLeast(bound *int64) int64 {
	if bound == nil {
		return math.MinInt64
	}
	return *bound
}

func orGreatest(bound *int64) int64 {
	if bound == nil {
		return math.MaxInt64
	}
	return *bound
}

func (r Requirement) within(value string) bool {
	if r.gte == nil && r.lte == nil {
		return true
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return false
	}
	return (r.gte == nil || n >= *r.gte) && (r.lte == nil || n <= *r.lte)
}

func sorted(values []string) []string {
	if len(values) == 0 {
		return nil
	}
	result := slices.Clone(values)
	slices.Sort(result)
	return slices.Compact(result)
}

func union(a, b []string) []string {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}
	return sorted(slices.Concat(a, b))
}

func keep(values []string, allowed func(string) bool) []string {
	var result []string
	for _, v := range values {
		if allowed(v) {
			result = append(result, v)
		}
	}
	return result
}

func greater[T int | int64](a, b *T) *T {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func smaller[T int | int64](a, b *T) *T {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

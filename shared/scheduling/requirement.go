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

// Requirement says which values the label Key of a node may have, and whether the label may be absent. It is a set: of values (a list, or all but
// a list, within integer bounds) and of the one further element "no such label". Keeping absence apart from the values makes intersection exact:
// Exists and NotIn together still demand the label, which NotIn alone does not.
//
// A Requirement is a value; its methods change nothing and share nothing that is later changed.
type Requirement struct {
	key string
	// values is sorted and without repeats: the allowed values, or with complement the forbidden ones.
	values     []string
	complement bool
	// absent says that a node without the label is allowed.
	absent bool
	// gte and lte bound the label's value read as an integer; a value that is none is outside. They are kept only with complement: a list
	// of values is cut by them at once.
	gte, lte *int64
	// minValues is how many different values the instance types of a launch must offer (Karpenter's minValues); nil is none.
	minValues *int
}

// In allows the values. Without values it allows nothing at all.
func In(key string, values ...string) Requirement {
	return Requirement{key: NormalizeKey(key), values: sorted(values)}
}

// NotIn allows every other value, and that the label is absent.
func NotIn(key string, values ...string) Requirement {
	return Requirement{key: NormalizeKey(key), values: sorted(values), complement: true, absent: true}
}

// Exists allows every value.
func Exists(key string) Requirement {
	return Requirement{key: NormalizeKey(key), complement: true}
}

// DoesNotExist allows only that the label is absent.
func DoesNotExist(key string) Requirement {
	return Requirement{key: NormalizeKey(key), absent: true}
}

// ParseRequirement reads an operator and its values as the API has them: In, NotIn, Exists, DoesNotExist, and with one integer Gt, Lt, Gte, Lte. The key
// is normalised (NormalizeKey). The error names the key and what is wrong with operator or values.
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
		return Requirement{}, fmt.Errorf("requirement on %q: operator %q is not one of In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte", key, operator)
	}
	if len(values) != 1 {
		return Requirement{}, fmt.Errorf("requirement on %q: operator %s needs exactly one value, not %d", key, operator, len(values))
	}
	bound, err := strconv.ParseInt(values[0], 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return Requirement{}, fmt.Errorf("requirement on %q: operator %s needs an integer of 64 bits, which %s is not", key, operator, values[0])
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

// WithMinValues returns the requirement with Karpenter's minValues: how many different values of the label the types of one launch must offer.
func (r Requirement) WithMinValues(n int) Requirement {
	r.minValues = &n
	return r
}

// Key is the label's key, normalised.
func (r Requirement) Key() string { return r.key }

// MinValues is how many different values a launch must offer, and whether the requirement says so.
func (r Requirement) MinValues() (int, bool) {
	if r.minValues == nil {
		return 0, false
	}
	return *r.minValues, true
}

// Has reports whether a node whose label has this value is allowed.
func (r Requirement) Has(value string) bool {
	_, listed := slices.BinarySearch(r.values, value)
	if listed == r.complement {
		return false
	}
	return r.within(value)
}

// AllowsAbsent reports whether a node without the label is allowed.
func (r Requirement) AllowsAbsent() bool { return r.absent }

// Values are the allowed values, sorted, and true; or nil and false if they are not a list (NotIn, Exists, bounds).
func (r Requirement) Values() ([]string, bool) {
	if r.complement {
		return nil, false
	}
	return r.values, true
}

// Single is the one value that a node must have, if the requirement leaves exactly one.
func (r Requirement) Single() (string, bool) {
	if r.complement || r.absent || len(r.values) != 1 {
		return "", false
	}
	return r.values[0], true
}

// Empty reports that nothing is allowed: no value, and the label may not be absent. Infinite sets count as not empty even where every integer
// between the bounds is forbidden, since a label may write an integer in more than one way.
func (r Requirement) Empty() bool {
	if r.absent {
		return false
	}
	if r.complement {
		return r.gte != nil && r.lte != nil && *r.gte > *r.lte
	}
	return len(r.values) == 0
}

// Intersection allows what both allow. Of two minValues it keeps the greater. The key is r's.
func (r Requirement) Intersection(other Requirement) Requirement {
	result := Requirement{key: r.key, absent: r.absent && other.absent, minValues: greater(r.minValues, other.minValues)}
	switch {
	case r.complement && other.complement:
		result.complement = true
		result.values = union(r.values, other.values)
		result.gte = greater(r.gte, other.gte)
		result.lte = smaller(r.lte, other.lte)
		if result.gte != nil && result.lte != nil && *result.gte > *result.lte {
			// One form of "no value", so that equal sets look equal.
			result.complement, result.values, result.gte, result.lte = false, nil, nil, nil
		} else if result.gte != nil || result.lte != nil {
			// What the bounds forbid need not be forbidden by name.
			result.values = keep(result.values, result.within)
		}
	case r.complement:
		result.values = keep(other.values, r.Has)
	default:
		result.values = keep(r.values, other.Has)
	}
	return result
}

// Intersects reports whether something is allowed by both, without building the intersection.
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

// SubsetOf reports whether everything that r allows, other allows too.
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
	if (other.gte != nil || other.lte != nil) && r.gte == nil && r.lte == nil {
		return false // r has values that are no integers
	}
	if other.gte != nil && orLeast(r.gte) < *other.gte || other.lte != nil && orGreatest(r.lte) > *other.lte {
		return false
	}
	return !slices.ContainsFunc(other.values, r.Has)
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

package identity

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// operator is a condition operator with its qualifiers, such as ForAnyValue:StringLikeIfExists. See
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html.
type operator struct {
	base     string
	negated  bool
	ifExists bool
	forAll   bool
	forAny   bool
}

// comparisons compare one value of a request with one of a policy. Null is not among them, because
// it tests a key's presence.
func comparisons() map[string]func(wanted, given string) bool {
	number := func(compare func(wanted, given float64) bool) func(string, string) bool {
		return func(wanted, given string) bool {
			w, err := strconv.ParseFloat(wanted, 64)
			if err != nil {
				return false
			}
			g, err := strconv.ParseFloat(given, 64)
			return err == nil && compare(w, g)
		}
	}
	return map[string]func(wanted, given string) bool{
		"StringEquals":             func(wanted, given string) bool { return wanted == given },
		"StringEqualsIgnoreCase":   strings.EqualFold,
		"StringLike":               wildcard,
		"ArnEquals":                arnLike,
		"ArnLike":                  arnLike,
		"Bool":                     strings.EqualFold,
		"NumericEquals":            number(func(w, g float64) bool { return g == w }),
		"NumericLessThan":          number(func(w, g float64) bool { return g < w }),
		"NumericLessThanEquals":    number(func(w, g float64) bool { return g <= w }),
		"NumericGreaterThan":       number(func(w, g float64) bool { return g > w }),
		"NumericGreaterThanEquals": number(func(w, g float64) bool { return g >= w }),
	}
}

func parseOperator(name string) (operator, error) {
	o := operator{base: name}
	if rest, ok := strings.CutPrefix(o.base, "ForAllValues:"); ok {
		o.base, o.forAll = rest, true
	} else if rest, ok := strings.CutPrefix(o.base, "ForAnyValue:"); ok {
		o.base, o.forAny = rest, true
	}
	if rest, ok := strings.CutSuffix(o.base, "IfExists"); ok {
		o.base, o.ifExists = rest, true
	}
	for _, family := range []string{"String", "Arn", "Numeric"} {
		if rest, ok := strings.CutPrefix(o.base, family+"Not"); ok {
			o.base, o.negated = family+rest, true
		}
	}
	known := comparisons()
	if _, ok := known[o.base]; !ok && o.base != "Null" {
		return o, fmt.Errorf("condition operator %s is not simulated by the local AWS; it knows Null, %s, their Not "+
			"forms, IfExists, ForAllValues and ForAnyValue",
			name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	return o, nil
}

// holds reports whether the condition on one key is met. benefit is the result for unknown tags.
func (o operator) holds(q question, key string, wanted texts, benefit bool) bool {
	given, present := q.context[strings.ToLower(key)]
	if q.tagsUnknown && !present && strings.Contains(strings.ToLower(key), ":resourcetag/") {
		return benefit
	}
	if o.base == "Null" {
		return slices.ContainsFunc(wanted, func(w string) bool { return strings.EqualFold(w, strconv.FormatBool(!present)) })
	}
	if !present || len(given) == 0 {
		switch {
		case o.ifExists, o.forAll:
			return true
		case o.forAny:
			return false
		default:
			return o.negated
		}
	}
	compare := comparisons()[o.base]
	matches := func(value string) bool {
		hit := slices.ContainsFunc(wanted, func(w string) bool { return compare(q.substitute(w), value) })
		return hit != o.negated
	}
	if o.forAny {
		return slices.ContainsFunc(given, matches)
	}
	if o.forAll || o.negated {
		return !slices.ContainsFunc(given, func(value string) bool { return !matches(value) })
	}
	return slices.ContainsFunc(given, matches)
}

// arnLike compares two ARNs part by part, each with wildcards, so that a * does not reach over a
// colon.
func arnLike(wanted, given string) bool {
	w, g := strings.SplitN(wanted, ":", 6), strings.SplitN(given, ":", 6)
	if len(w) != 6 || len(g) != 6 {
		return wanted == "*"
	}
	for i := range w {
		if !wildcard(w[i], g[i]) {
			return false
		}
	}
	return true
}

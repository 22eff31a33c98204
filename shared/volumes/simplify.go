package volumes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// simplify returns fewer alternatives with the same meaning. It merges those that differ in the
// values of one label, and drops those that another one includes. Nil allows everything.
func simplify(alternatives []scheduling.Requirements) []scheduling.Requirements {
	for {
		before := len(alternatives)
		if slices.ContainsFunc(alternatives, func(a scheduling.Requirements) bool { return len(a) == 0 }) {
			return nil
		}
		if before == 1 {
			return alternatives
		}
		for _, key := range keysOf(alternatives) {
			alternatives = uniteBy(key, alternatives)
		}
		if len(alternatives) == before {
			break
		}
	}
	if len(alternatives) > maximumCombinations/4 {
		return alternatives // comparing all pairs would take too long
	}
	var result []scheduling.Requirements
	for i, a := range alternatives {
		included := false
		for j, b := range alternatives {
			if i != j && includes(b, a) && (j < i || !includes(a, b)) {
				included = true
				break
			}
		}
		if !included {
			result = append(result, a)
		}
	}
	return result
}

// uniteBy merges alternatives that list values for the key and are otherwise equal.
func uniteBy(key string, alternatives []scheduling.Requirements) []scheduling.Requirements {
	var result []scheduling.Requirements
	first := map[string]int{}
	values := map[string][]string{}
	for _, a := range alternatives {
		rest := signature(a, key)
		list, ok := listed(a[key])
		if !ok {
			result = append(result, a)
			continue
		}
		if _, ok := first[rest]; !ok {
			first[rest] = len(result)
			result = append(result, a)
		}
		values[rest] = append(values[rest], list...)
	}
	for rest, i := range first {
		if list, _ := listed(result[i][key]); len(list) < len(values[rest]) {
			united := result[i].Clone()
			united[key] = scheduling.In(key, values[rest]...)
			result[i] = united
		}
	}
	return result
}

// listed returns the values of a requirement that is a plain list, and whether it is one. The zero
// Requirement is not.
func listed(r scheduling.Requirement) ([]string, bool) {
	values, ok := r.Values()
	return values, ok && len(values) > 0 && !r.AllowsAbsent()
}

// includes reports whether a allows every node that b allows.
func includes(a, b scheduling.Requirements) bool {
	for key, wide := range a {
		narrow, ok := b[key]
		if !ok || !narrow.SubsetOf(wide) {
			return false
		}
	}
	return true
}

func keysOf(alternatives []scheduling.Requirements) []string {
	var keys []string
	for _, a := range alternatives {
		for key := range a {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// signature returns a text that is equal for equal requirements, without the one on the given key.
func signature(requirements scheduling.Requirements, except string) string {
	var text strings.Builder
	for _, key := range requirements.Keys() {
		if key == except {
			continue
		}
		for _, term := range requirements[key].Terms() {
			fmt.Fprintf(&text, "%q %s %q;", key, term.Operator, term.Values)
		}
	}
	return text.String()
}

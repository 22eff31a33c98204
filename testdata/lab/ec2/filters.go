package ec2

import (
	"strconv"
	"strings"
)

// fields maps each filter's name to a function that reads the resource's values.
type fields[T any] map[string]func(T) []string

// tagsOf reads a resource's tags; nil for resources that have none.
type tagsOf[T any] func(T) map[string]string

// matching returns the resources that pass every filter. A resource passes a filter if one of its
// values matches one of the filter's.
func matching[T any](all []T, filters []filter, known fields[T], tags tagsOf[T]) ([]T, error) {
	reads := make([]func(T) []string, len(filters))
	for i, f := range filters {
		read, err := reader(f.Name, known, tags)
		if err != nil {
			return nil, err
		}
		if len(f.Values) == 0 {
			return nil, refuse(codeInvalidParameterValue, "The filter '%s' has no values", f.Name)
		}
		reads[i] = read
	}
	kept := make([]T, 0, len(all))
	for _, resource := range all {
		if passes(resource, filters, reads) {
			kept = append(kept, resource)
		}
	}
	return kept, nil
}

func reader[T any](name string, known fields[T], tags tagsOf[T]) (func(T) []string, error) {
	if read, ok := known[name]; ok {
		return read, nil
	}
	if tags != nil {
		if key, ok := strings.CutPrefix(name, "tag:"); ok {
			return func(resource T) []string {
				value, ok := tags(resource)[key]
				if !ok {
					return nil
				}
				return []string{value}
			}, nil
		}
		if name == "tag-key" {
			return func(resource T) []string {
				var keys []string
				for key := range tags(resource) {
					keys = append(keys, key)
				}
				return keys
			}, nil
		}
	}
	return nil, refuse(codeInvalidParameterValue, "The filter '%s' is invalid", name)
}

func passes[T any](resource T, filters []filter, reads []func(T) []string) bool {
	for i, f := range filters {
		if !anyMatches(f.Values, reads[i](resource)) {
			return false
		}
	}
	return true
}

func anyMatches(patterns, values []string) bool {
	for _, pattern := range patterns {
		for _, value := range values {
			if wildcard(pattern, value) {
				return true
			}
		}
	}
	return false
}

// wildcard matches EC2's filter values: * any characters, ? one character, a backslash takes the
// next one as it is. Values are case-sensitive.
func wildcard(pattern, value string) bool {
	// back and resume are where to take up again after the latest star: with that star holding one
	// more character.
	back, resume := -1, 0
	p, v := 0, 0
	for v < len(value) {
		literal, width := byte(0), 0
		if p < len(pattern) {
			literal, width = pattern[p], 1
			if literal == '\\' && p+1 < len(pattern) {
				literal, width = pattern[p+1], 2
			}
		}
		switch {
		case width == 1 && literal == '*':
			back, resume = p, v
			p++
		case width == 1 && literal == '?', width > 0 && literal == value[v]:
			p += width
			v++
		case back >= 0:
			resume++
			p, v = back+1, resume
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

func one(value string) []string { return []string{value} }

func yesNo(value bool) []string { return []string{strconv.FormatBool(value)} }

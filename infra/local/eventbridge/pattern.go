package eventbridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// pattern decides which events a rule takes.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html
type pattern struct{ root node }

// node is a condition on a value of the event; absent values are given as missing.
type node interface{ matches(value any) bool }

// missing stands for a field that the event does not have.
type missing struct{}

// parsePattern reads a pattern. The error names the field and its valid values.
func parsePattern(text []byte) (*pattern, error) {
	value, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("the event pattern is not JSON: %w", err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("the event pattern must be a JSON object")
	}
	root, err := parseObject(object, "")
	if err != nil {
		return nil, err
	}
	return &pattern{root}, nil
}

// Match reports whether an event, as JSON, fits the pattern. Only an event that is not a JSON
// object is an error.
func (p *pattern) Match(event []byte) (bool, error) {
	value, err := decode(event)
	if err != nil {
		return false, fmt.Errorf("the event is not JSON: %w", err)
	}
	if _, ok := value.(map[string]any); !ok {
		return false, errors.New("the event must be a JSON object")
	}
	return p.root.matches(value), nil
}

// decode keeps numbers as they are written: patterns compare literals by their text.
func decode(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("there is something behind the JSON value")
	}
	return value, nil
}

// fields must all match; an array in the event matches if one of its elements does as a whole.
type fields map[string]node

func (f fields) matches(value any) bool {
	if list, ok := value.([]any); ok {
		return slices.ContainsFunc(list, f.matches)
	}
	object, ok := value.(map[string]any)
	if !ok {
		object = nil
	}
	for name, condition := range f {
		field, present := object[name]
		if !present {
			field = missing{}
		}
		if !condition.matches(field) {
			return false
		}
	}
	return true
}

// both is an object with an $or beside other fields.
type both []node

func (b both) matches(value any) bool {
	for _, part := range b {
		if !part.matches(value) {
			return false
		}
	}
	return true
}

// either is $or.
type either []node

func (e either) matches(value any) bool {
	for _, part := range e {
		if part.matches(value) {
			return true
		}
	}
	return false
}

// leaf is a list of conditions. One of them must match the value, or one element of an array.
type leaf []condition

func (l leaf) matches(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		// Conditions are for leaves: an object counts as a field that is not there.
		return l.matchesOne(missing{})
	case []any:
		elements := flatten(value)
		if len(elements) == 0 {
			return l.matchesOne(missing{})
		}
		return slices.ContainsFunc(elements, l.matchesOne)
	default:
		return l.matchesOne(value)
	}
}

func flatten(list []any) []any {
	var all []any
	for _, element := range list {
		switch element := element.(type) {
		case []any:
			all = append(all, flatten(element)...)
		case map[string]any:
		default:
			all = append(all, element)
		}
	}
	return all
}

func (l leaf) matchesOne(value any) bool {
	for _, c := range l {
		if c(value) {
			return true
		}
	}
	return false
}

func parseObject(object map[string]any, path string) (node, error) {
	if len(object) == 0 {
		return nil, fmt.Errorf("event pattern%s: empty objects are not allowed", at(path))
	}
	plain := fields{}
	var parts both
	for _, name := range slices.Sorted(maps.Keys(object)) {
		below := name
		if path != "" {
			below = path + "." + name
		}
		if name == "$or" {
			alternatives, err := parseOr(object[name], below, path)
			if err != nil {
				return nil, err
			}
			parts = append(parts, alternatives)
			continue
		}
		var err error
		switch value := object[name].(type) {
		case map[string]any:
			plain[name], err = parseObject(value, below)
		case []any:
			plain[name], err = parseLeaf(value, below)
		default:
			err = fmt.Errorf("event pattern%s: the value must be an object or an array, such as [%s]", at(below), show(value))
		}
		if err != nil {
			return nil, err
		}
	}
	if len(parts) == 0 {
		return plain, nil
	}
	// The parts look at the same element where the event has an array here.
	return eachElement{append(parts, plain)}, nil
}

// eachElement makes all parts of a condition look at the same element of an array.
type eachElement struct{ of node }

func (e eachElement) matches(value any) bool {
	if list, ok := value.([]any); ok {
		return slices.ContainsFunc(list, e.matches)
	}
	return e.of.matches(value)
}

func parseOr(value any, below, path string) (node, error) {
	list, ok := value.([]any)
	if !ok || len(list) < 2 {
		return nil, fmt.Errorf("event pattern%s: $or must be an array of at least two objects", at(below))
	}
	var alternatives either
	for _, element := range list {
		object, ok := element.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("event pattern%s: $or has %s; its elements must be objects", at(below), show(element))
		}
		alternative, err := parseObject(object, path)
		if err != nil {
			return nil, err
		}
		alternatives = append(alternatives, alternative)
	}
	return alternatives, nil
}

func parseLeaf(list []any, path string) (node, error) {
	if len(list) == 0 {
		return nil, fmt.Errorf("event pattern%s: empty arrays are not allowed", at(path))
	}
	var conditions leaf
	for _, element := range list {
		c, err := parseCondition(element)
		if err != nil {
			return nil, fmt.Errorf("event pattern%s: %w", at(path), err)
		}
		conditions = append(conditions, c)
	}
	return conditions, nil
}

func at(path string) string {
	if path == "" {
		return ""
	}
	return " at " + path
}

func show(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

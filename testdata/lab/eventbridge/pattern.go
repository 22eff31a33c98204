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

// pattern decides which events a rule takes: a field of the event must have one of the listed
// literals, in objects as in the pattern.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-patterns.html
type pattern map[string]any

// parsePattern reads a pattern. The error names the field and its valid values.
func parsePattern(text []byte) (pattern, error) {
	value, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("the event pattern is not JSON: %w", err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("the event pattern must be a JSON object")
	}
	return object, checkObject(object, "")
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

func checkObject(object map[string]any, at string) error {
	if len(object) == 0 {
		return fmt.Errorf("event pattern%s: empty objects are not allowed", at)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		below := at + "." + name
		if at == "" {
			below = " at " + name
		}
		if name == "$or" {
			return fmt.Errorf("event pattern%s: $or is not simulated by the local AWS", below)
		}
		var err error
		switch value := object[name].(type) {
		case map[string]any:
			err = checkObject(value, below)
		case []any:
			err = checkList(value, below)
		default:
			err = fmt.Errorf("event pattern%s: the value must be an object or an array, such as [%s]", below, show(value))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func checkList(list []any, at string) error {
	if len(list) == 0 {
		return fmt.Errorf("event pattern%s: empty arrays are not allowed", at)
	}
	for _, element := range list {
		switch element := element.(type) {
		case string, json.Number, bool:
		case map[string]any:
			return fmt.Errorf("event pattern%s: the operator %s is not simulated by the local AWS; it knows lists of strings, "+
				"numbers, true and false", at, show(element))
		default:
			return fmt.Errorf("event pattern%s: %s is not simulated by the local AWS; it knows lists of strings, numbers, "+
				"true and false", at, show(element))
		}
	}
	return nil
}

// match reports whether an event, as JSON, fits the pattern. Only an event that is not a JSON object
// is an error.
func (p pattern) match(event []byte) (bool, error) {
	value, err := decode(event)
	if err != nil {
		return false, fmt.Errorf("the event is not JSON: %w", err)
	}
	if _, ok := value.(map[string]any); !ok {
		return false, errors.New("the event must be a JSON object")
	}
	return matches(map[string]any(p), value), nil
}

// matches compares one value of the event with its part of the pattern. An array in the event has the
// literal if one of its elements is the literal.
func matches(wanted, value any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		object, _ := value.(map[string]any)
		for name, inner := range wanted {
			if !matches(inner, object[name]) {
				return false
			}
		}
		return true
	case []any:
		if list, ok := value.([]any); ok {
			return slices.ContainsFunc(list, func(element any) bool { return matches(wanted, element) })
		}
		return slices.ContainsFunc(wanted, func(literal any) bool { return literal == scalar(value) })
	default:
		return false
	}
}

// scalar makes a value comparable: an object is equal to no literal.
func scalar(value any) any {
	if _, isObject := value.(map[string]any); isObject {
		return nil
	}
	return value
}

func show(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

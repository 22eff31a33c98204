package eventbridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Target is where a rule sends its events.
type Target struct {
	ID               string `json:"Id"`
	Arn              string
	Input            string            `json:",omitempty"`
	InputPath        string            `json:",omitempty"`
	InputTransformer *InputTransformer `json:",omitempty"`
	RetryPolicy      *RetryPolicy      `json:",omitempty"`
	DeadLetterConfig *DeadLetterConfig `json:",omitempty"`
	RoleArn          string            `json:",omitempty"`
}

// InputTransformer writes a text of its own from parts of the event.
type InputTransformer struct {
	InputPathsMap map[string]string `json:",omitempty"`
	InputTemplate string
}

// RetryPolicy is kept and shown; see the package comment.
type RetryPolicy struct {
	MaximumEventAgeInSeconds *int `json:",omitempty"`
	MaximumRetryAttempts     *int `json:",omitempty"`
}

// DeadLetterConfig names the queue for events that the target did not take.
type DeadLetterConfig struct{ Arn string }

func (t Target) check() error {
	given := 0
	for _, set := range []bool{t.Input != "", t.InputPath != "", t.InputTransformer != nil} {
		if set {
			given++
		}
	}
	switch {
	case t.ID == "":
		return errors.New("a target needs an Id")
	case !strings.HasPrefix(t.Arn, "arn:aws:sqs:") && !strings.HasPrefix(t.Arn, "arn:aws:lambda:"):
		return fmt.Errorf("target %s: Arn %q: the local bus's targets are SQS queues and Lambda functions", t.ID, t.Arn)
	case given > 1:
		return fmt.Errorf("target %s: only one of Input, InputPath and InputTransformer may be given", t.ID)
	case t.Input != "" && !json.Valid([]byte(t.Input)):
		return fmt.Errorf("target %s: Input is not JSON", t.ID)
	}
	if t.InputPath != "" {
		if _, err := parsePath(t.InputPath); err != nil {
			return fmt.Errorf("target %s: InputPath: %w", t.ID, err)
		}
	}
	if t.InputTransformer != nil {
		if t.InputTransformer.InputTemplate == "" {
			return fmt.Errorf("target %s: InputTransformer has no InputTemplate", t.ID)
		}
		for name, path := range t.InputTransformer.InputPathsMap {
			if _, err := parsePath(path); err != nil {
				return fmt.Errorf("target %s: InputTransformer.InputPathsMap %s: %w", t.ID, name, err)
			}
		}
	}
	return nil
}

// input is the part of the event that the target receives.
func (t Target) input(event []byte) ([]byte, error) {
	switch {
	case t.Input != "":
		return []byte(t.Input), nil
	case t.InputPath != "":
		value, found, err := lookUp(event, t.InputPath)
		if err != nil {
			return nil, err
		}
		if !found {
			return []byte("{}"), nil
		}
		return json.Marshal(value)
	case t.InputTransformer != nil:
		return t.InputTransformer.apply(event)
	default:
		return event, nil
	}
}

var placeholder = regexp.MustCompile(`<([A-Za-z0-9_.\-]+)>`)

// apply replaces the placeholders of the template. One inside a JSON string is replaced by text,
// one elsewhere by JSON; a path that finds nothing gives an empty text or null.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-transform-target-input.html
func (t InputTransformer) apply(event []byte) ([]byte, error) {
	var out strings.Builder
	last, quoted := 0, false
	for _, found := range placeholder.FindAllStringSubmatchIndex(t.InputTemplate, -1) {
		between := t.InputTemplate[last:found[0]]
		quoted = inString(between, quoted)
		out.WriteString(between)
		name := t.InputTemplate[found[2]:found[3]]
		last = found[1]
		value, known, err := t.value(name, event)
		if err != nil {
			return nil, err
		}
		if !known {
			out.WriteString(t.InputTemplate[found[0]:found[1]])
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("InputTransformer: %s: %w", name, err)
		}
		out.WriteString(within(string(text), value, quoted))
	}
	out.WriteString(t.InputTemplate[last:])
	return []byte(out.String()), nil
}

// within is a value's JSON as it stands in the template. In a string, text stands without its
// quotation marks, null as nothing, and objects lose all of theirs, as on AWS.
func within(text string, value any, quoted bool) string {
	if !quoted {
		return text
	}
	switch value.(type) {
	case nil:
		return ""
	case string:
		return text[1 : len(text)-1]
	default:
		return strings.ReplaceAll(text, `"`, "")
	}
}

func (t InputTransformer) value(name string, event []byte) (value any, known bool, err error) {
	switch name {
	case "aws.events.event.json", "aws.events.event":
		value, err = decode(event)
		return value, true, err
	}
	path, known := t.InputPathsMap[name]
	if !known {
		return nil, false, nil
	}
	value, _, err = lookUp(event, path)
	return value, true, err
}

// inString reports whether text ends inside a JSON string, given whether it begins inside one.
func inString(text string, quoted bool) bool {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		}
	}
	return quoted
}

var pathPart = regexp.MustCompile(`^(?:\.([A-Za-z0-9_-]+)|\['([^']+)'\]|\["([^"]+)"\]|\[(\d+)\])`)

// parsePath reads the JSON paths that EventBridge takes: $.detail.state, $.resources[0],
// $['detail-type'].
func parsePath(path string) ([]any, error) {
	rest, ok := strings.CutPrefix(path, "$")
	if !ok {
		return nil, fmt.Errorf("path %q must begin with $", path)
	}
	var parts []any
	for rest != "" {
		found := pathPart.FindStringSubmatch(rest)
		if found == nil {
			return nil, fmt.Errorf("path %q is not understood from %q on; use .name, ['name'] or [0]", path, rest)
		}
		rest = rest[len(found[0]):]
		if found[4] != "" {
			index, err := strconv.Atoi(found[4])
			if err != nil {
				return nil, fmt.Errorf("path %q: %w", path, err)
			}
			parts = append(parts, index)
			continue
		}
		parts = append(parts, found[1]+found[2]+found[3])
	}
	return parts, nil
}

func lookUp(event []byte, path string) (value any, found bool, err error) {
	parts, err := parsePath(path)
	if err != nil {
		return nil, false, err
	}
	if value, err = decode(event); err != nil {
		return nil, false, err
	}
	for _, part := range parts {
		switch part := part.(type) {
		case int:
			list, _ := value.([]any)
			if part >= len(list) {
				return nil, false, nil
			}
			value = list[part]
		case string:
			object, _ := value.(map[string]any)
			if value, found = object[part]; !found {
				return nil, false, nil
			}
		}
	}
	return value, true, nil
}

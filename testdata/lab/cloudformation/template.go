package cloudformation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Limits of CloudFormation's own:
// https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html.
const (
	maxTemplateBytes = 1 << 20
	maxResources     = 500
	// maxNesting bounds how deep values of a template may be nested, so that resolving cannot
	// exhaust the stack.
	maxNesting = 100
)

// template is a parsed template. The values below properties are JSON as encoding/json gives it,
// with intrinsic functions unresolved.
type template struct {
	Description string
	Metadata    any
	Conditions  map[string]any
	Resources   map[string]declaration
	Outputs     map[string]output
}

// declaration is one entry of a template's Resources.
type declaration struct {
	Type                string
	Properties          map[string]any
	DependsOn           names
	DeletionPolicy      string
	UpdateReplacePolicy string
	Metadata            any
}

// output is one entry of a template's Outputs.
type output struct {
	Description string
	Value       any
}

// names is a list of names that may be written as a single string.
type names []string

// UnmarshalJSON takes a string or a list of strings.
func (n *names) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*n = names{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(text, &many); err != nil {
		return fmt.Errorf("DependsOn takes a logical id or a list of them, not %.80s", text)
	}
	*n = many
	return nil
}

// sections are the top-level keys of a template that the local AWS holds. CloudFormation also knows
// Parameters, Mappings, Rules, Hooks and Transform.
var sections = []string{"AWSTemplateFormatVersion", "Description", "Metadata", "Conditions", "Resources", "Outputs"}

// parseTemplate reads a JSON template. Its errors are worded as the rest of the sentence "template
// format error: ...".
func parseTemplate(body string) (*template, error) {
	if len(body) > maxTemplateBytes {
		return nil, fmt.Errorf("the template has %d bytes; the limit is %d", len(body), maxTemplateBytes)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &top); err != nil {
		return nil, fmt.Errorf("the template is not a JSON object (the local AWS reads no YAML): %w", err)
	}
	for name := range top {
		if !slices.Contains(sections, name) {
			return nil, fmt.Errorf("section %q is not simulated by the local AWS; it knows %s", name,
				strings.Join(sections, ", "))
		}
	}
	t := &template{}
	for name, target := range map[string]any{
		"Description": &t.Description, "Metadata": &t.Metadata, "Conditions": &t.Conditions,
	} {
		if text, ok := top[name]; ok {
			if err := json.Unmarshal(text, target); err != nil {
				return nil, fmt.Errorf("section %s: %w", name, err)
			}
		}
	}
	if err := t.parseResources(top["Resources"]); err != nil {
		return nil, err
	}
	if err := t.parseOutputs(top["Outputs"]); err != nil {
		return nil, err
	}
	return t, t.checkNesting(body)
}

func (t *template) parseResources(text json.RawMessage) error {
	var raw map[string]map[string]json.RawMessage
	if len(text) > 0 {
		if err := json.Unmarshal(text, &raw); err != nil {
			return fmt.Errorf("section Resources: %w", err)
		}
	}
	if len(raw) == 0 {
		return fmt.Errorf("at least one Resources member must be defined")
	}
	if len(raw) > maxResources {
		return fmt.Errorf("the template has %d resources; the limit is %d", len(raw), maxResources)
	}
	t.Resources = make(map[string]declaration, len(raw))
	for _, id := range slices.Sorted(maps.Keys(raw)) {
		var d declaration
		if err := parseAttributes("resource "+id, raw[id], map[string]any{
			"Type": &d.Type, "Properties": &d.Properties, "DependsOn": &d.DependsOn, "DeletionPolicy": &d.DeletionPolicy,
			"UpdateReplacePolicy": &d.UpdateReplacePolicy, "Metadata": &d.Metadata,
		}); err != nil {
			return err
		}
		if d.Type == "" {
			return fmt.Errorf("every Resources object must contain a Type member; %s has none", id)
		}
		t.Resources[id] = d
	}
	return nil
}

func (t *template) parseOutputs(text json.RawMessage) error {
	var raw map[string]map[string]json.RawMessage
	if len(text) > 0 {
		if err := json.Unmarshal(text, &raw); err != nil {
			return fmt.Errorf("section Outputs: %w", err)
		}
	}
	t.Outputs = make(map[string]output, len(raw))
	for _, id := range slices.Sorted(maps.Keys(raw)) {
		var o output
		if err := parseAttributes("output "+id, raw[id], map[string]any{
			"Description": &o.Description, "Value": &o.Value,
		}); err != nil {
			return err
		}
		t.Outputs[id] = o
	}
	return nil
}

// parseAttributes fills the targets of the attributes of one entry, and refuses other attributes.
func parseAttributes(of string, raw map[string]json.RawMessage, targets map[string]any) error {
	for _, attribute := range slices.Sorted(maps.Keys(raw)) {
		target, ok := targets[attribute]
		if !ok {
			return fmt.Errorf("%s: the attribute %s is not simulated by the local AWS", of, attribute)
		}
		if err := json.Unmarshal(raw[attribute], target); err != nil {
			return fmt.Errorf("%s, attribute %s: %w", of, attribute, err)
		}
	}
	return nil
}

// checkNesting refuses a template with values nested deeper than maxNesting.
func (t *template) checkNesting(body string) error {
	decoder := json.NewDecoder(strings.NewReader(body))
	depth := 0
	for {
		token, err := decoder.Token()
		if err != nil {
			return nil // the end: the body has been parsed before
		}
		if delimiter, ok := token.(json.Delim); ok {
			switch delimiter {
			case '{', '[':
				depth++
			default:
				depth--
			}
			if depth > maxNesting {
				return fmt.Errorf("its values are nested more than %d deep", maxNesting)
			}
		}
	}
}

// retains reports whether a deletion policy keeps the resource when it leaves its stack.
func retains(policy string) bool {
	return policy == "Retain" || policy == "RetainExceptOnCreate" || policy == "Snapshot"
}

package conformance

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/servicemodel"
)

// validation finds the parts of an answer that a model does not know.
type validation struct {
	model    *servicemodel.Model
	problems []string
}

func (v *validation) problem(path, format string, args ...any) {
	text := path + ": " + fmt.Sprintf(format, args...)
	if !slices.Contains(v.problems, text) {
		v.problems = append(v.problems, text)
	}
}

// validate returns one line for each thing in an answer's body that is not as the model has it.
func validate(m *servicemodel.Model, action string, body []byte) []string {
	output, err := m.Output(action)
	if err != nil {
		return []string{err.Error()}
	}
	v := &validation{model: m}
	if m.Metadata.Protocol == "json" || m.Metadata.Protocol == "rest-json" {
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil && len(body) > 0 {
			return []string{action + ": the answer is not JSON: " + err.Error()}
		}
		if output != nil {
			v.json(action, output, value)
		}
		return v.problems
	}
	root, err := parseXML(body)
	if err != nil {
		return []string{action + ": " + err.Error()}
	}
	if root.name != action+"Response" {
		v.problem(action, "the outermost element is %s", root.name)
	}
	v.envelope(action, root, output)
	return v.problems
}

// envelope checks the outer elements of an XML answer. EC2 puts the request ID beside the members;
// the query protocol wraps the members.
func (v *validation) envelope(action string, root *element, output *servicemodel.Ref) {
	if v.model.Metadata.Protocol == "ec2" {
		if root.child("requestId") == nil {
			v.problem(action, "requestId is missing")
		}
		root.children = slices.DeleteFunc(slices.Clone(root.children), func(c *element) bool { return c.name == "requestId" })
		if output != nil {
			v.element(action, output, root)
		} else if r := root.child("return"); len(root.children) > 1 || len(root.children) == 1 && r == nil {
			v.problem(action, "an action without output answers more than return")
		}
		return
	}
	if metadata := root.child("ResponseMetadata"); metadata == nil || metadata.child("RequestId") == nil {
		v.problem(action, "ResponseMetadata with RequestId is missing")
	}
	if output == nil {
		return
	}
	result := root.child(output.ResultWrapper)
	if result == nil {
		v.problem(action, "%s is missing", output.ResultWrapper)
		return
	}
	v.element(action, output, result)
}

// element checks one element and all in it.
func (v *validation) element(path string, ref *servicemodel.Ref, e *element) {
	s := v.model.Shapes[ref.Shape]
	switch s.Type {
	case "structure":
		v.structure(path, s, e)
	case "list":
		name := "member"
		if s.Member.LocationName != "" {
			name = s.Member.LocationName
		}
		for _, c := range e.children {
			if c.name != name {
				v.problem(path+"/"+c.name, "items are called %s", name)
				continue
			}
			v.element(path+"/"+name, s.Member, c)
		}
	case "map":
		for _, c := range e.children {
			if c.name != "entry" {
				v.problem(path+"/"+c.name, "entries are called entry")
			}
		}
	default:
		if len(e.children) > 0 {
			v.problem(path, "has elements in it and is a %s", s.Type)
			return
		}
		v.text(path, s, e.text)
	}
}

func (v *validation) structure(path string, s *servicemodel.Shape, e *element) {
	byName := map[string]*servicemodel.Ref{}
	for name, member := range s.Members {
		element := name
		if member.LocationName != "" {
			element = member.LocationName
		}
		target := v.model.Shapes[member.Shape]
		if target.Type == "list" && (member.Flattened || target.Flattened) {
			if target.Member.LocationName != "" {
				element = target.Member.LocationName
			}
			byName[element] = target.Member
			continue
		}
		byName[element] = member
	}
	seen := map[string]bool{}
	for _, c := range e.children {
		member, known := byName[c.name]
		if !known {
			v.problem(path+"/"+c.name, "the model has no such element: it has %q", slices.Sorted(maps.Keys(byName)))
			continue
		}
		seen[c.name] = true
		v.element(path+"/"+c.name, member, c)
	}
	for _, name := range s.Required {
		element := name
		if location := s.Members[name].LocationName; location != "" {
			element = location
		}
		if !seen[element] {
			v.problem(path+"/"+element, "is required and missing")
		}
	}
}

// text checks a scalar of XML, which is always text. Empty text is valid.
func (v *validation) text(path string, s *servicemodel.Shape, text string) {
	if text == "" {
		return
	}
	var err error
	switch s.Type {
	case "integer":
		_, err = strconv.ParseInt(text, 10, 32)
	case "long":
		_, err = strconv.ParseInt(text, 10, 64)
	case "boolean":
		if text != "true" && text != "false" {
			err = fmt.Errorf("want true or false")
		}
	case "double", "float":
		_, err = strconv.ParseFloat(text, 64)
	case "timestamp":
		_, err = time.Parse(time.RFC3339Nano, text)
	case "blob":
		_, err = base64.StdEncoding.DecodeString(text)
	case "string":
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, text) {
			err = fmt.Errorf("the words are %q", s.Enum)
		}
	}
	if err != nil {
		v.problem(path, "%q is not a %s: %v", text, s.Type, err)
	}
}

// json checks one value and all in it.
func (v *validation) json(path string, ref *servicemodel.Ref, value any) {
	s := v.model.Shapes[ref.Shape]
	if value == nil {
		return
	}
	wrong := func() { v.problem(path, "%v is not a %s", value, s.Type) }
	switch s.Type {
	case "structure":
		object, ok := value.(map[string]any)
		if !ok {
			wrong()
			return
		}
		for _, name := range slices.Sorted(maps.Keys(object)) {
			member := s.Members[name]
			for _, candidate := range s.Members {
				if candidate.LocationName == name {
					member = candidate
				}
			}
			if member == nil {
				v.problem(path+"/"+name, "the model has no such member: it has %q", slices.Sorted(maps.Keys(s.Members)))
				continue
			}
			v.json(path+"/"+name, member, object[name])
		}
		for _, name := range s.Required {
			if _, ok := object[name]; !ok {
				v.problem(path+"/"+name, "is required and missing")
			}
		}
	case "list":
		items, ok := value.([]any)
		if !ok {
			wrong()
			return
		}
		for _, item := range items {
			v.json(path+"/member", s.Member, item)
		}
	case "map":
		entries, ok := value.(map[string]any)
		if !ok {
			wrong()
			return
		}
		for _, entry := range entries {
			v.json(path+"/value", s.Value, entry)
		}
	case "string", "blob":
		text, ok := value.(string)
		if !ok {
			wrong()
			return
		}
		v.text(path, s, text)
	case "boolean":
		if _, ok := value.(bool); !ok {
			wrong()
		}
	case "timestamp", "double", "float":
		if _, ok := value.(json.Number); !ok {
			wrong()
		}
	case "integer", "long":
		number, ok := value.(json.Number)
		if !ok {
			wrong()
			return
		}
		if _, err := number.Int64(); err != nil {
			wrong()
		}
	}
}

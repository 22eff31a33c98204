package document

import (
	"bytes"
	"encoding/json"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Line returns a field's line in the file. For a missing field it returns the line of its parent.
func (d *Document) Line(path Path) int {
	whole := d.place.With(path...)
	if d.source.isYAML {
		return d.source.lineOfYAML(whole)
	}
	return d.source.lineOfJSON(whole)
}

func (s *source) lineOfYAML(path Path) int {
	if key, _, _ := s.walk(path); key != nil {
		return s.line + key.Line - 1
	}
	return s.line
}

// written returns a scalar's text if it differs from its value, otherwise "". YAML reads n and off
// as false, and y and on as true.
func (d *Document) written(path Path) string {
	if !d.source.isYAML {
		return ""
	}
	_, value, found := d.source.walk(d.place.With(path...))
	if !found || value.Kind != yamlv3.ScalarNode || value.Value == "true" || value.Value == "false" {
		return ""
	}
	return value.Value
}

// walk follows a path as far as possible. It returns the last thing found and the node that names
// it. found reports whether the whole path exists.
func (s *source) walk(path Path) (key, value *yamlv3.Node, found bool) {
	if s.root == nil {
		s.root = &yamlv3.Node{}
		// Split has already reported unreadable text. Its fields then count as on the first line.
		_ = yamlv3.Unmarshal(s.text, s.root)
	}
	if len(s.root.Content) == 0 {
		return nil, nil, false
	}
	key, value = s.root.Content[0], s.root.Content[0]
	for _, step := range path {
		nextKey, next := entry(value, step, 0)
		if next == nil {
			return key, value, false
		}
		key, value = nextKey, next
	}
	return key, value, true
}

// maximumDepth limits how deep aliases and merges nest.
const maximumDepth = 100

// entry returns the value at one step and the node that names it, or nil.
func entry(node *yamlv3.Node, step any, depth int) (key, value *yamlv3.Node) {
	if depth > maximumDepth {
		return nil, nil
	}
	switch node.Kind {
	case yamlv3.AliasNode:
		return entry(node.Alias, step, depth+1)
	case yamlv3.SequenceNode:
		if i, ok := step.(int); ok && i < len(node.Content) {
			return node.Content[i], node.Content[i]
		}
		// In a merge the first entry with the key counts.
		if _, isKey := step.(string); isKey && depth > 0 {
			for _, merged := range node.Content {
				if key, value = entry(merged, step, depth+1); value != nil {
					return key, value
				}
			}
		}
	case yamlv3.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i], node.Content[i+1]
			}
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == "<<" {
				return entry(node.Content[i+1], step, depth+1)
			}
		}
	}
	return nil, nil
}

// lineOfJSON reads up to the field, and skips the values before it.
func (s *source) lineOfJSON(path Path) int {
	decoder := json.NewDecoder(bytes.NewReader(s.text))
	offset := int64(blanks(s.text, 0))
	for _, step := range path {
		opening, err := decoder.Token()
		if err != nil {
			break
		}
		if delimiter, ok := opening.(json.Delim); !ok || !enter(decoder, delimiter, step) {
			break
		}
		offset = decoder.InputOffset()
		// In an object the decoder has just read the key. In a list the entry begins after the
		// separator.
		if _, isIndex := step.(int); isIndex {
			offset = int64(after(s.text, int(offset), ','))
		}
	}
	return s.line + bytes.Count(s.text[:offset], []byte("\n"))
}

// enter reads until the next value is the step's.
func enter(decoder *json.Decoder, delimiter json.Delim, step any) bool {
	for i := 0; decoder.More(); i++ {
		if delimiter == '{' {
			if key, err := decoder.Token(); err != nil || key == step {
				return err == nil
			}
		} else if i == step {
			return true
		}
		var skipped json.RawMessage
		if decoder.Decode(&skipped) != nil {
			return false
		}
	}
	return false
}

package conversion

import (
	"bytes"
	"fmt"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/functions/console/document"
	"github.com/whittle-dev/whittle/shared/api/legacy"
)

// annotated returns an object as YAML, with a comment at the target of each change.
func annotated(object any, output legacy.Output) (string, error) {
	plain, err := yaml.Marshal(object)
	if err != nil {
		return "", fmt.Errorf("writing a manifest: %w", err)
	}
	var root yamlv3.Node
	if err := yamlv3.Unmarshal(plain, &root); err != nil {
		return "", fmt.Errorf("writing a manifest: %w", err)
	}
	top := root.Content[0]
	head := fmt.Sprintf("# From %s %q.", output.Kind, output.Name)
	for _, change := range output.Changes {
		node := nodeAt(top, document.ParsePath(change.Target))
		text := strings.TrimSuffix(comment(output, change), "\n")
		if node == top {
			head += "\n" + text
			continue
		}
		node.HeadComment = strings.TrimPrefix(node.HeadComment+"\n"+text, "\n")
	}
	var text bytes.Buffer
	encoder := yamlv3.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(&root); err != nil {
		return "", fmt.Errorf("writing a manifest: %w", err)
	}
	return head + "\n" + text.String(), nil
}

// nodeAt returns the key or the entry that a path leads to, or the deepest one on its way.
func nodeAt(node *yamlv3.Node, path document.Path) *yamlv3.Node {
	at := node
	for _, step := range path {
		key, next := child(node, step)
		if next == nil {
			break
		}
		at, node = key, next
	}
	return at
}

func child(node *yamlv3.Node, step any) (key, value *yamlv3.Node) {
	switch step := step.(type) {
	case int:
		if node.Kind == yamlv3.SequenceNode && step < len(node.Content) {
			return node.Content[step], node.Content[step]
		}
	case string:
		for i := 0; node.Kind == yamlv3.MappingNode && i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i], node.Content[i+1]
			}
		}
	}
	return nil, nil
}

// commentWidth is where comments wrap.
const commentWidth = 90

// comment returns a change as lines of comment. It names the old object where it is not the
// output's. A change that a cluster would not use begins with CHANGE THIS.
func comment(output legacy.Output, change legacy.Change) string {
	text := change.String()
	if change.Kind == output.Kind && change.Name == output.Name {
		text = change.Message()
	}
	if change.Level == legacy.Blocking {
		text = "CHANGE THIS: " + text
	}
	var lines strings.Builder
	line := "#"
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > commentWidth && line != "#" {
			lines.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	lines.WriteString(line + "\n")
	return lines.String()
}

package conversion

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/functions/console/document"
	"github.com/whittle-dev/whittle/functions/console/manifests"
	"github.com/whittle-dev/whittle/shared/api/legacy"
)

// separator stands between documents.
const separator = "---\n"

// Result is what the files become.
type Result struct {
	// Text is YAML.
	Text []byte
	// Blocking are the changes that somebody must look at before a cluster uses the objects.
	Blocking []legacy.Change
}

// Convert converts the objects of the files, which are named as for package manifests. Where neither
// a template nor the settings name a profile or a role, the role is legacy.UnknownRole. The error
// joins one line for each fault, with file, line and field.
func Convert(names []string, stdin io.Reader, settings legacy.Settings) (*Result, error) {
	documents, err := manifests.Documents(names, stdin)
	if err != nil {
		return nil, err
	}
	parts, err := partsOf(documents)
	if err != nil {
		return nil, err
	}
	read, err := manifests.ReadDocuments(documents)
	if err != nil {
		return nil, err
	}
	settings.Role = cmp.Or(settings.Role, legacy.UnknownRole)
	outputs := map[string][]legacy.Output{}
	for _, output := range legacy.Convert(read.Old, settings) {
		key := versionOf(output) + " " + output.Name
		outputs[key] = append(outputs[key], output)
	}
	result := &Result{}
	var texts []string
	for _, p := range parts {
		key := p.apiVersion + " " + p.kind + " " + p.name
		if !p.isOld() {
			texts = append(texts, p.text)
			continue
		}
		for _, output := range outputs[key] {
			text, err := write(output)
			if err != nil {
				return nil, err
			}
			texts = append(texts, text)
			for _, change := range output.Changes {
				if change.Level == legacy.Blocking {
					result.Blocking = append(result.Blocking, change)
				}
			}
		}
		delete(outputs, key) // of two equal objects the last counts, and stands in the place of the first
	}
	result.Text = []byte(strings.Join(texts, separator))
	return result, nil
}

// part is a document, or an entry of a list.
type part struct {
	apiVersion, kind, name string
	text                   string
}

// isOld reports whether the part is converted.
func (p *part) isOld() bool { return manifests.IsOld(p.apiVersion, p.kind) }

// partsOf returns the documents in their order, with the entries of lists. A document keeps its
// text with its comments.
func partsOf(documents []*document.Document) ([]part, error) {
	var parts []part
	for _, d := range documents {
		text, _ := d.Text()
		var list struct {
			Kind  string            `json:"kind"`
			Items []json.RawMessage `json:"items"`
		}
		// An array is a list too. Anything else is reported when it is read.
		if json.Unmarshal(d.JSON, &list.Items) != nil {
			_ = json.Unmarshal(d.JSON, &list)
		}
		if list.Items == nil {
			parts = append(parts, partOf(d.JSON, plain(text)))
			continue
		}
		for _, item := range list.Items {
			text, err := yaml.JSONToYAML(item)
			if err != nil {
				return nil, d.Errorf(nil, "%w", err)
			}
			parts = append(parts, partOf(item, string(text)))
		}
	}
	return parts, nil
}

func partOf(object []byte, text string) part {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(object, &head) // what is missing is reported when it is read
	return part{apiVersion: head.APIVersion, kind: head.Kind, name: head.Metadata.Name, text: text}
}

// plain returns a document's text without its separator and empty lines around it.
func plain(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if rest, found := strings.CutPrefix(lines[0], "---"); found {
		lines[0] = strings.TrimLeft(rest, " ")
	}
	return strings.TrimSpace(strings.Join(lines, "\n")) + "\n"
}

// versionOf returns apiVersion and kind of the old object.
func versionOf(output legacy.Output) string {
	switch {
	case output.Kind == legacy.ProvisionerKind:
		return legacy.ProvisionerAPIVersion + " " + output.Kind
	case output.Kind == legacy.AWSNodeTemplateKind:
		return legacy.AWSNodeTemplateAPIVersion + " " + output.Kind
	case output.Class != nil:
		return legacy.AWSBetaAPIVersion + " " + output.Kind
	}
	return legacy.BetaAPIVersion + " " + output.Kind
}

// write returns an object with its comments.
func write(output legacy.Output) (string, error) {
	var object any
	switch {
	case output.Pool != nil:
		object = output.Pool
	case output.Class != nil:
		object = output.Class
	case output.Claim != nil:
		object = output.Claim
	default:
		var text bytes.Buffer
		for _, change := range output.Changes {
			text.WriteString(comment(output, change))
		}
		return fmt.Sprintf("# %s %q cannot be converted.\n%s", output.Kind, output.Name, text.String()), nil
	}
	return annotated(object, output)
}

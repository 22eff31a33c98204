package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// Document is one document of a file, or an entry of a list in it.
type Document struct {
	// File is the file's name in messages.
	File string
	// JSON is the document as JSON, whatever its source format.
	JSON []byte

	source *source
	// place is the document's path in the source; empty for all of it.
	place Path
}

// source is a document's text, with the data to find lines in it.
type source struct {
	text []byte
	// line is the number of the text's first line in the file.
	line   int
	isYAML bool
	// root is the parsed YAML. The first search for a line sets it.
	root *yamlv3.Node
}

// Entry returns a part of the document, such as the entry of a list. The caller has cut part out of
// the document's JSON.
func (d *Document) Entry(part []byte, steps ...any) *Document {
	return &Document{File: d.File, JSON: part, source: d.source, place: d.place.With(steps...)}
}

// Text returns the document's text as it is in the file, and false for a part of a document.
func (d *Document) Text() (string, bool) { return string(d.source.text), len(d.place) == 0 }

// Errorf returns an error that begins with the file and the line of a field.
func (d *Document) Errorf(path Path, format string, arguments ...any) error {
	return fmt.Errorf("%s:%d: %w", d.File, d.Line(path), fmt.Errorf(format, arguments...))
}

// Split divides a file's text into its non-empty documents. Text that begins like JSON may hold
// several JSON values in sequence. Other text is YAML, with lines of --- between documents. Errors
// name file and line.
func Split(file string, text []byte) ([]*Document, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if start := bytes.TrimLeft(text, " \t\r\n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		documents, err := splitJSON(file, text)
		if err == nil || filepath.Ext(file) == ".json" {
			return documents, err
		}
		// Text that looks like JSON may be YAML's flow style, which needs no quotes.
		if documents, yamlErr := splitYAML(file, text); yamlErr == nil {
			return documents, nil
		}
		return nil, err
	}
	return splitYAML(file, text)
}

func splitJSON(file string, text []byte) ([]*Document, error) {
	var documents []*Document
	// Most files hold one value. It needs no copy.
	if json.Valid(text) {
		return []*Document{{File: file, JSON: bytes.TrimSpace(text), source: &source{text: text, line: 1}}}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		var value json.RawMessage
		before := decoder.InputOffset()
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			offset := int64(len(text))
			var syntax *json.SyntaxError
			// A decoder counts a syntax error's offset from the beginning of its input.
			if errors.As(err, &syntax) {
				offset = min(syntax.Offset, offset)
			}
			return nil, fmt.Errorf("%s:%d: not JSON: %w", file, lineAt(text, offset), err)
		}
		for before < int64(len(text)) && bytes.IndexByte([]byte(" \t\r\n"), text[before]) >= 0 {
			before++
		}
		if string(value) == "null" {
			continue
		}
		documents = append(documents, &Document{
			File: file, JSON: value, source: &source{text: text[before:decoder.InputOffset()], line: lineAt(text, before)},
		})
	}
}

func splitYAML(file string, text []byte) ([]*Document, error) {
	var documents []*Document
	line := 1
	for len(text) > 0 {
		part, rest, lines := cutYAML(text)
		d := &Document{File: file, source: &source{text: part, line: line, isYAML: true}}
		value, err := yaml.YAMLToJSONStrict(part)
		if err != nil {
			problem := yamlProblem(err, line)
			if bytes.Contains(part, []byte("{{")) {
				problem += ": it looks like a template: render it first, as with `helm template`"
			}
			return nil, fmt.Errorf("%s:%s", file, problem)
		}
		if d.JSON = value; string(value) != "null" {
			documents = append(documents, d)
		}
		text, line = rest, line+lines
	}
	return documents, nil
}

// cutYAML cuts the text after its first document, and counts the lines before the cut. A line that
// begins with --- ends a document everywhere, even in a block scalar.
func cutYAML(text []byte) (part, rest []byte, lines int) {
	begun := false
	for offset := 0; offset < len(text); {
		end := bytes.IndexByte(text[offset:], '\n')
		next := offset + end + 1
		if end < 0 {
			next = len(text)
		}
		line := text[offset:next]
		if marker, ok := bytes.CutPrefix(line, []byte("---")); ok &&
			(len(bytes.TrimSpace(marker)) == 0 || marker[0] == ' ' || marker[0] == '\t') {
			if begun {
				return text[:offset], text[offset:], lines
			}
			begun = true
		} else if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 && trimmed[0] != '#' && trimmed[0] != '%' {
			begun = true
		}
		offset, lines = next, lines+1
	}
	return text, nil, lines
}

// lineInError matches the line within the document in YAML's messages.
var lineInError = regexp.MustCompile(`line (\d+): `)

// yamlProblem returns "LINE: what is wrong" with the line in the file. It reports the first problem
// only, because the others mostly follow from it.
func yamlProblem(err error, line int) string {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text = strings.TrimPrefix(text, "yaml: ")
	text = strings.TrimSpace(strings.TrimPrefix(text, "unmarshal errors:"))
	text, _, _ = strings.Cut(text, "\n")
	if at := lineInError.FindStringSubmatchIndex(text); at != nil {
		if n, err := strconv.Atoi(text[at[2]:at[3]]); err == nil {
			line += n - 1
			text = text[:at[0]] + text[at[1]:]
		}
	}
	return fmt.Sprintf("%d: not YAML: %s", line, text)
}

// lineAt returns the number of the line at an offset.
func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(offset, int64(len(text)))], []byte("\n"))
}

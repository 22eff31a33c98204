package templates

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/util/jsonpath"
	kubernetesjson "sigs.k8s.io/json"
)

// The forms that take a template, as kubectl names them.
const (
	formPath        = "jsonpath"
	formPathJSON    = "jsonpath-as-json"
	formPathFile    = "jsonpath-file"
	formColumns     = "custom-columns"
	formColumnsFile = "custom-columns-file"
)

// Forms are the forms, each with what follows it.
func Forms() []string {
	return []string{
		formPath + "=TEMPLATE", formPathJSON + "=TEMPLATE", formPathFile + "=FILE", formColumns + "=COLUMNS",
		formColumnsFile + "=FILE",
	}
}

// Is reports whether a value of -o names one of the forms, with or without its template.
func Is(output string) bool {
	form, _, _ := strings.Cut(output, "=")
	return slices.Contains([]string{formPath, formPathJSON, formPathFile, formColumns, formColumnsFile}, form)
}

// Template is a template that has been read. One of its fields is set.
type Template struct {
	path    *jsonpath.JSONPath
	columns []column
}

// Parse reads the value of -o, such as jsonpath={.nodes[*].zone}. The error says how to write it.
func Parse(output string) (*Template, error) {
	form, text, _ := strings.Cut(output, "=")
	isFile := form == formPathFile || form == formColumnsFile
	if text == "" {
		return nil, fmt.Errorf("%s has no template: write it as in %s", form, example(form))
	}
	if isFile {
		content, err := os.ReadFile(text)
		if err != nil {
			return nil, fmt.Errorf("reading the template: %w", err)
		}
		text = string(content)
	}
	made := &Template{}
	var err error
	switch form {
	case formPath, formPathFile, formPathJSON:
		made.path, err = parsePath(text)
		if made.path != nil {
			made.path.EnableJSONOutput(form == formPathJSON)
		}
	case formColumns:
		made.columns, err = parseColumns(text)
	case formColumnsFile:
		made.columns, err = parseColumnLines(text)
	default:
		err = errors.New("no form with a template")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: write it as in %s", err, example(form))
	}
	return made, nil
}

// example is a valid value of -o. Quotes keep the shell from reading braces and brackets.
func example(form string) string {
	switch form {
	case formColumns:
		return "-o custom-columns=NAME:.name,ZONE:.zone"
	case formColumnsFile:
		return "-o custom-columns-file=FILE, with the headers in the first line and .name .zone in the second"
	case formPathFile:
		return "-o jsonpath-file=FILE, with {.formatVersion} in the file"
	}
	return "-o " + form + "='{.formatVersion}'"
}

// parsePath reads a JSONPath template. One without braces would print itself, which nobody means.
func parsePath(text string) (*jsonpath.JSONPath, error) {
	if !strings.Contains(text, "{") {
		return nil, fmt.Errorf("the template %q has no braces and chooses nothing", text)
	}
	path := jsonpath.New("out").AllowMissingKeys(true)
	if err := path.Parse(text); err != nil {
		return nil, fmt.Errorf("the template %q is no JSONPath (%w)", text, err)
	}
	return path, nil
}

// Write writes what the template chooses of an object. A JSONPath chooses from the whole object. Columns
// have a row for each entry of the object's list of the given name. They have one row for the object
// itself where the name is empty.
func (t *Template) Write(out io.Writer, object any, rows string) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	// As kubectl does, whole numbers stay whole: 1000000 and not 1e+06.
	var content any
	if err := kubernetesjson.UnmarshalCaseSensitivePreserveInts(text, &content); err != nil {
		return err
	}
	if t.path != nil {
		return t.writePath(out, content)
	}
	entries := []any{content}
	if fields, isObject := content.(map[string]any); isObject && rows != "" {
		entries, _ = fields[rows].([]any)
	}
	return writeColumns(out, t.columns, entries)
}

func (t *Template) writePath(out io.Writer, content any) error {
	if err := t.path.Execute(out, content); err != nil {
		return fmt.Errorf("the JSONPath template does not fit the object: %w (-o json shows its fields)", err)
	}
	return nil
}

package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/functions/console/templates"
)

// These are the forms of output, as kubectl names them.
const (
	formTable    = "table"
	formWide     = "wide"
	formJSON     = "json"
	formYAML     = "yaml"
	formName     = "name"
	formText     = "text"
	formTemplate = "template"
	formMarkdown = "markdown"
)

// form is a form of output.
type form struct {
	// kind is one of the constants above.
	kind string
	// template is that of formTemplate.
	template *templates.Template
}

// outputFlag adds -o and -output with the given forms, of which the first is the default. Each command has
// the forms with a template too.
func outputFlag(flags *flag.FlagSet, chosen *form, kinds ...string) {
	chosen.kind = kinds[0]
	all := slices.Concat(kinds, templates.Forms())
	list := strings.Join(all[:len(all)-1], ", ") + " or " + all[len(all)-1]
	value := choice{all, func(text string) (err error) {
		switch {
		case slices.Contains(kinds, text):
			*chosen = form{kind: text}
		case templates.Is(text):
			chosen.kind = formTemplate
			chosen.template, err = templates.Parse(text)
		default:
			err = fmt.Errorf("want %s%s", list, meant(text, kinds))
		}
		return err
	}}
	for _, name := range []string{"o", "output"} {
		flags.Var(value, name, fmt.Sprintf("`form` of the output: %s (default %s)", list, kinds[0]))
	}
}

// choice is the value of a flag that has a few values. The shell completes them.
type choice struct {
	values []string
	set    func(text string) error
}

func (c choice) String() string { return "" }

// Set is of flag.Value.
func (c choice) Set(text string) error { return c.set(text) }

// isForPrograms reports whether a form is one for programs.
func (f *form) isForPrograms() bool {
	return slices.Contains([]string{formJSON, formYAML, formTemplate}, f.kind)
}

// write writes a value for programs. rows is the name of its list whose entries are the rows of custom
// columns; empty where the value itself is the row.
func (f *form) write(out io.Writer, value any, rows string) error {
	if f.template != nil {
		return f.template.Write(out, value, rows)
	}
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	if f.kind != formYAML {
		_, err := io.WriteString(out, text.String())
		return err
	}
	converted, err := yaml.JSONToYAML([]byte(text.String()))
	if err != nil {
		return err
	}
	_, err = out.Write(converted)
	return err
}

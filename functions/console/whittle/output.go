package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// These are the forms of output, as kubectl names them.
const (
	formTable = "table"
	formWide  = "wide"
	formJSON  = "json"
	formYAML  = "yaml"
	formName  = "name"
)

// outputFlag adds -o and -output with the given forms, of which the first is the default.
func outputFlag(flags *flag.FlagSet, form *string, forms ...string) {
	*form = forms[0]
	list := strings.Join(forms[:len(forms)-1], ", ") + " or " + forms[len(forms)-1]
	for _, name := range []string{"o", "output"} {
		flags.Func(name, fmt.Sprintf("`form` of the output: %s (default %s)", list, forms[0]), func(text string) error {
			if !slices.Contains(forms, text) {
				return fmt.Errorf("want %s", list)
			}
			*form = text
			return nil
		})
	}
}

// isForPrograms reports whether a form is one for programs.
func isForPrograms(form string) bool { return form == formJSON || form == formYAML }

// write writes a value for programs.
func write(out io.Writer, form string, value any) error {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	if form != formYAML {
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

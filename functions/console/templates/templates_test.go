package templates_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/functions/console/templates"
)

// object has the kinds of values that templates meet.
var object = map[string]any{
	"kind": "List", "count": 1234567, "price": 0.07, "none": nil, "empty": []any{},
	"items": []map[string]any{
		{"name": "a", "ready": true, "tags": []string{"x", "y"}, "labels": map[string]string{"example.com/team": "ml"}},
		{"name": "bee", "ready": false},
	},
}

func written(t *testing.T, output, rows string) (string, error) {
	t.Helper()
	template, err := templates.Parse(output)
	if err != nil {
		t.Fatalf("%s: %v", output, err)
	}
	var text strings.Builder
	err = template.Write(&text, object, rows)
	return text.String(), err
}

// TestWrite has templates of kubectl's documentation, and what kubectl prints for them: no line end after
// a JSONPath, whole numbers as they are, and <none> in a column.
func TestWrite(t *testing.T) {
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "template")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, test := range []struct{ output, rows, want string }{
		{"jsonpath={.items[*].name}", "", "a bee"},
		{"jsonpath={.count} {.price} {.items[0].ready}", "", "1234567 0.07 true"},
		{`jsonpath={range .items[*]}{.name}{"\n"}{end}`, "", "a\nbee\n"},
		{`jsonpath={.items[?(@.ready==true)].name}`, "", "a"},
		{`jsonpath={.items[0].labels.example\.com/team}`, "", "ml"},
		{"jsonpath={.nothing}", "", ""},
		{"jsonpath={.items[0].tags}", "", `["x","y"]`},
		{"jsonpath=count: {.count}", "", "count: 1234567"},
		{"jsonpath-as-json={.items[*].name}", "", "[\n    \"a\",\n    \"bee\"\n]\n"},
		{"jsonpath-file=" + file("{.kind}"), "", "List"},
		{
			"custom-columns=NAME:.name,TAGS:tags[*],TEAM:{.labels.example\\.com/team}", "items",
			"NAME   TAGS     TEAM\na      x,y      ml\nbee    <none>   <none>\n",
		},
		{"custom-columns=KIND:.kind,N:.count,NULL:.none", "", "KIND   N         NULL\nList   1234567   <nil>\n"},
		{"custom-columns=NAME:.name", "empty", "NAME\n"},
		{"custom-columns-file=" + file("NAME READY\n{.name} .ready\n"), "items", "NAME   READY\na      true\nbee    false\n"},
	} {
		if got, err := written(t, test.output, test.rows); err != nil || got != test.want {
			t.Errorf("%s: %v\n%q, want\n%q", test.output, err, got, test.want)
		}
	}
	if _, err := written(t, "jsonpath={.items[7].name}", ""); err == nil || !strings.Contains(err.Error(),
		"does not fit") {
		t.Errorf("an index beyond the list: %v", err)
	}
}

// TestParseRefuses checks that each error says what is wrong and how to write it.
func TestParseRefuses(t *testing.T) {
	for output, want := range map[string]string{
		"jsonpath":                  "has no template",
		"jsonpath=":                 "has no template",
		"jsonpath=.kind":            "has no braces",
		"jsonpath={.kind":           "unclosed action",
		"jsonpath-file=none":        "no such file",
		"custom-columns":            "has no template",
		"custom-columns=NAME":       "no colon",
		"custom-columns=NAME:":      `has the path ""`,
		"custom-columns=NAME:.a{b}": `has the path ".a{b}"`,
		"custom-columns=NAME:.a]":   "no JSONPath",
		"custom-columns-file=none":  "no such file",
		"custom-columns=A:.a,B":     `the column "B"`,
		"jsonpath={.a[?(@.b==)]}":   "no JSONPath",
	} {
		_, err := templates.Parse(output)
		switch {
		case err == nil:
			t.Errorf("%s is accepted", output)
		case !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %q", output, err, want)
		case !strings.Contains(err.Error(), "no such file") && !strings.Contains(err.Error(), "write it as in -o "):
			t.Errorf("%s: no remedy in %v", output, err)
		}
	}
	for output, want := range map[string]bool{"jsonpath": true, "custom-columns=A:.b": true, "json": false, "": false} {
		if templates.Is(output) != want {
			t.Errorf("%q is %v", output, !want)
		}
	}
}

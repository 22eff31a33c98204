package nodestate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
)

// constants returns the values of the constants of a type in this package.
func constants(t *testing.T, file, kind string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == kind {
			for _, value := range spec.Values {
				values = append(values, strings.Trim(value.(*ast.BasicLit).Value, `"`))
			}
		}
		return true
	})
	return values
}

// TestEachWordIsInItsTable holds that a new constant has a row, and that no word stands twice.
func TestEachWordIsInItsTable(t *testing.T) {
	var words, steps []string
	for _, entry := range Words() {
		words = append(words, string(entry.Word))
		if entry.Meaning == "" || entry.Tone == "" {
			t.Errorf("%q has no meaning or no tone", entry.Word)
		}
		if entry.State != (Rank(entry.Word) >= 0) {
			t.Errorf("%q is a state: %t, but has the rank %d", entry.Word, entry.State, Rank(entry.Word))
		}
	}
	for _, entry := range Steps() {
		steps = append(steps, string(entry.Step))
	}
	for _, table := range []struct{ table, constants []string }{
		{words, constants(t, "words.go", "Word")}, {steps, constants(t, "steps.go", "Step")},
	} {
		slices.Sort(table.table)
		slices.Sort(table.constants)
		if len(table.constants) < 15 || !slices.Equal(table.table, table.constants) {
			t.Errorf("the table has %q, and the constants are %q", table.table, table.constants)
		}
		if len(slices.Compact(slices.Clone(table.table))) != len(table.table) {
			t.Errorf("a word stands twice in %q", table.table)
		}
	}
}

// TestEachTraceOnAClaimHasAWord holds that whoever adds a condition or an annotation of NodeClaims gives it a
// word, or says why it needs none.
func TestEachTraceOnAClaimHasAWord(t *testing.T) {
	said, seen := silent(), map[string]bool{}
	for _, entry := range Words() {
		for _, from := range entry.From {
			if said[from] != "" {
				t.Errorf("%s has the word %q, and is listed as silent", from, entry.Word)
			}
			said[from] = string(entry.Word)
		}
	}
	check := func(key string) {
		seen[key] = true
		if said[key] == "" {
			t.Errorf("%s has no word: add one to Words, or a reason to silent", key)
		}
	}
	for _, condition := range api.ConditionTypes() {
		if condition.Kind == api.NodeClaimKind {
			check(condition.Type)
		}
	}
	for _, annotation := range api.Annotations() {
		if annotation.Internal && slices.Contains(annotation.On, api.NodeClaimKind) ||
			slices.Contains(annotation.On, "node") {
			check(annotation.Key)
		}
	}
	for key := range said {
		if !seen[key] {
			t.Errorf("%s has a word, and nobody writes it", key)
		}
	}
}

// TestEachEventHasAStep holds that each reason of an event is about one step.
func TestEachEventHasAStep(t *testing.T) {
	for _, reason := range api.EventReasons() {
		if StepOfReason(reason.Reason) == "" {
			t.Errorf("the event %s has no step", reason.Reason)
		}
	}
	seen := map[string]Step{}
	for _, entry := range Steps() {
		for _, text := range append(slices.Clone(entry.Reasons), entry.Messages...) {
			if seen[text] != "" {
				t.Errorf("%q is of the steps %q and %q", text, seen[text], entry.Step)
			}
			seen[text] = entry.Step
		}
	}
	if PlaceOf(StepLaunched) >= PlaceOf("unknown") || PlaceOf("unknown") >= PlaceOf(StepTerminated) {
		t.Error("an unknown step has no place between the launch and the end")
	}
}

// TestEachMessageOfAStepIsLogged holds the log lines against the page that lists them all.
func TestEachMessageOfAStepIsLogged(t *testing.T) {
	page, err := os.ReadFile("../../functions/LOGS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range Steps() {
		for _, message := range entry.Messages {
			if !strings.Contains(string(page), "| `"+message+"` |") {
				t.Errorf("no function logs %q", message)
			}
		}
	}
}

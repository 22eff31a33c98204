package shared_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// faults says which places of the claim differ from its source, and which expressions match nothing.
func (c claim) faults(texts map[string]string) []string {
	var faults []string
	for _, place := range c.places {
		expression, found := regexp.MustCompile(place), 0
		for path, text := range texts {
			for _, match := range expression.FindAllStringSubmatch(text, -1) {
				found++
				if got, err := number(match[1]); err != nil || math.Abs(got-c.value) > 1e-6 {
					faults = append(faults, fmt.Sprintf("%s has %q, and its source %g", path, match[0], c.value))
				}
			}
		}
		if found == 0 {
			faults = append(faults, fmt.Sprintf("no page has %q any more: mend the expression, or remove it", place))
		}
	}
	return faults
}

// numbers are the words that pages write for numbers.
var numbers = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve")

// number reads a number in digits or as a word.
func number(text string) (float64, error) {
	if at := slices.Index(numbers, text); at >= 0 {
		return float64(at), nil
	}
	switch text {
	case "fifteen":
		return 15, nil
	case "hundred":
		return 100, nil
	}
	return strconv.ParseFloat(strings.ReplaceAll(strings.TrimSuffix(text, "."), ",", ""), 64)
}

// costOf is the last number of the row of the cost table that begins with a text.
func costOf(t *testing.T, page, part string) float64 {
	t.Helper()
	_, table, _ := strings.Cut(page, "<!-- cost: written by")
	table, _, _ = strings.Cut(table, "<!-- end of cost -->")
	_, row, found := strings.Cut(table, "| "+part)
	match := regexp.MustCompile(`\| \$([\d.]+) \|`).FindStringSubmatch(row)
	if !found || match == nil {
		t.Fatalf("the table of costs has no row %q", part)
	}
	cost, err := number(match[1])
	if err != nil {
		t.Fatal(err)
	}
	return cost
}

// resourcesOfTheSnapshot counts the resources of the stack with the default settings.
func resourcesOfTheSnapshot(t *testing.T) float64 {
	t.Helper()
	content, err := os.ReadFile("../infra/testdata/snapshot.json")
	if err != nil {
		t.Fatal(err)
	}
	var template struct{ Resources map[string]any }
	if err := json.Unmarshal(content, &template); err != nil {
		t.Fatal(err)
	}
	return float64(len(template.Resources))
}

// matchIn is the number that an expression finds in a file.
func matchIn(t *testing.T, file, expression string) float64 {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(expression).FindSubmatch(content)
	if match == nil {
		t.Fatalf("%s has no %q", file, expression)
	}
	found, err := number(string(match[1]))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// constantsOf returns the numbers among the constants of a folder's package. A time is in nanoseconds.
func constantsOf(t *testing.T, folder string) constantValues {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for range 2 { // a constant may stand before the one that it is built from
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				addConstants(found, parse(t, file))
			}
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s has no constants", folder)
	}
	return constantValues{t: t, folder: folder, values: found}
}

// constantValues are the constants of one folder.
type constantValues struct {
	t      *testing.T
	folder string
	values map[string]float64
}

// of returns a constant, which has to exist.
func (c constantValues) of(name string) float64 {
	c.t.Helper()
	value, found := c.values[name]
	if !found {
		c.t.Fatalf("%s has no constant %s that is a number", c.folder, name)
	}
	return value
}

// addConstants adds the constants of a file whose values are numbers.
func addConstants(found map[string]float64, file *ast.File) {
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			of := spec.(*ast.ValueSpec)
			for i, name := range of.Names {
				if i < len(of.Values) {
					if value, ok := evaluate(found, of.Values[i]); ok {
						found[name.Name] = value
					}
				}
			}
		}
	}
}

// units are those of package time, which the constants of a folder do not have.
var units = map[string]time.Duration{
	"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
}

// evaluate computes a constant expression, as far as it is made of numbers, times and known constants.
func evaluate(known map[string]float64, expression ast.Expr) (float64, bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		value, err := strconv.ParseFloat(strings.ReplaceAll(e.Value, "_", ""), 64)
		return value, err == nil
	case *ast.Ident:
		value, ok := known[e.Name]
		return value, ok
	case *ast.ParenExpr:
		return evaluate(known, e.X)
	case *ast.SelectorExpr:
		unit, ok := units[e.Sel.Name]
		return float64(unit), ok
	case *ast.BinaryExpr:
		left, isLeft := evaluate(known, e.X)
		right, isRight := evaluate(known, e.Y)
		switch e.Op {
		case token.MUL:
			return left * right, isLeft && isRight
		case token.QUO:
			return left / right, isLeft && isRight
		case token.ADD:
			return left + right, isLeft && isRight
		case token.SUB:
			return left - right, isLeft && isRight
		}
	}
	return 0, false
}

// ratios are the least and the greatest part of Karpenter's price that Whittle's plans cost, in the table
// of prices, of a number of pods. They have two digits, as on pages.
func ratios(t *testing.T, results, pods string) (least, most float64) {
	t.Helper()
	_, table, _ := strings.Cut(results, "## Price")
	table, _, _ = strings.Cut(table, "## Features")
	least = math.Inf(1)
	row := regexp.MustCompile(`\| ` + pods + ` \| [a-z -]+ \|(?: [\d.,]+ \|){7} ([\d.]+) \|`)
	for _, match := range row.FindAllStringSubmatch(table, -1) {
		part, err := number(match[1])
		if err != nil {
			t.Fatal(err)
		}
		least, most = min(least, part), max(most, part)
	}
	if most == 0 {
		t.Fatalf("the results have no prices for %s pods", pods)
	}
	return math.Round(least*100) / 100, math.Round(most*100) / 100
}

// TestAContradictionIsFound gives a claim pages that agree, differ, and have nothing of it.
func TestAContradictionIsFound(t *testing.T) {
	c := claim{name: "tries", places: []string{`After (\w+) tries`, `(\w+) attempts`}, value: 5}
	for name, test := range map[string]struct {
		texts map[string]string
		want  int
	}{
		"they agree":        {map[string]string{"a": "After five tries, or 5 attempts", "b": "5 attempts"}, 0},
		"one differs":       {map[string]string{"a": "After three tries", "b": "5 attempts"}, 1},
		"twice on one page": {map[string]string{"a": "After 5 tries, After 6 tries, five attempts"}, 1},
		"no number":         {map[string]string{"a": "After more tries", "b": "5 attempts"}, 1},
		"nothing of it":     {map[string]string{"a": "After 5 tries"}, 1},
	} {
		if got := c.faults(test.texts); len(got) != test.want {
			t.Errorf("%s: %q, want %d", name, got, test.want)
		}
	}
}

func TestConstantsAreComputed(t *testing.T) {
	found := constantsOf(t, "../infra")
	if got := found.of("visibilityFactor") * found.of("workTimeout"); got != float64(6*time.Minute) {
		t.Errorf("%g", got)
	}
}

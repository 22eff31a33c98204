package shared_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation/settings"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/nodestate"
)

var update = flag.Bool("update", false, "write the tables into the pages")

const (
	apiPage        = "api/README.md"
	eventsPage     = "api/events.md"
	conditionsPage = "api/conditions.md"
	metricsPage    = "metrics/README.md"
	provisionPage  = "../functions/provision/README.md"
	commandPage    = "../functions/console/whittle/README.md"
)

// TestTables compares the tables of the pages with the code. With -update it writes them.
func TestTables(t *testing.T) {
	for _, table := range []struct {
		page, name, text string
	}{
		{apiPage, "annotations", annotationsTable()},
		{apiPage, "internal annotations", internalAnnotationsTable()},
		{metricsPage, "metrics", metricsTable()},
		{eventsPage, "events", eventsTable()},
		{conditionsPage, "conditions", conditionsTable()},
		{provisionPage, "error codes", errorCodesTable()},
		{commandPage, "node words", nodeWordsTable()},
		{commandPage, "steps", stepsTable()},
	} {
		t.Run(table.name, func(t *testing.T) {
			written, err := os.ReadFile(table.page)
			if err != nil {
				t.Fatal(err)
			}
			wanted, err := withTable(string(written), table.name, table.text)
			if err != nil {
				t.Fatalf("%s: %v", table.page, err)
			}
			if wanted == string(written) {
				return
			}
			if !*update {
				t.Fatalf("%s: the table %q differs from the code: run go test ./shared -run Tables -update", table.page, table.name)
			}
			if err := os.WriteFile(table.page, []byte(wanted), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// withTable returns the page with a table between its two marker comments.
func withTable(page, name, table string) (string, error) {
	start, end := fmt.Sprintf("<!-- %s: ", name), fmt.Sprintf("<!-- end of %s -->", name)
	before, rest, found := strings.Cut(page, start)
	marker, rest, closed := strings.Cut(rest, "-->\n")
	_, after, ended := strings.Cut(rest, end)
	if !found || !closed || !ended {
		return "", fmt.Errorf("no place for the table %q: write %s... --> and %s on lines of their own", name, start, end)
	}
	return before + start + marker + "-->\n" + table + end + after, nil
}

// markdown returns a table with a row of column names.
func markdown(columns []string, rows [][]string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat(" --- |", len(columns)))
	for _, row := range rows {
		fmt.Fprintf(&text, "| %s |\n", strings.Join(row, " | "))
	}
	return text.String()
}

// code returns a list of names as code.
func code(names []string) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, "`"+name+"`")
	}
	return strings.Join(quoted, ", ")
}

func annotationsTable() string {
	var rows [][]string
	for _, a := range api.Annotations() {
		if a.Internal {
			continue
		}
		value := "none"
		if a.Default != "" {
			value = "`" + a.Default + "`"
		}
		rows = append(rows, []string{"`" + a.Key + "`", strings.Join(a.On, ", "), value, a.Meaning})
	}
	return markdown([]string{"annotation", "on", "default", "meaning"}, rows)
}

func internalAnnotationsTable() string {
	var rows [][]string
	for _, a := range api.Annotations() {
		if a.Internal {
			rows = append(rows, []string{"`" + a.Key + "`", a.Meaning})
		}
	}
	return markdown([]string{"annotation", "meaning"}, rows)
}

func nodeWordsTable() string {
	var rows [][]string
	for _, entry := range nodestate.Words() {
		kind := "remark"
		if entry.State {
			kind = "state"
		}
		rows = append(rows, []string{string(entry.Word), kind, entry.Meaning})
	}
	return markdown([]string{"word", "is a", "meaning"}, rows)
}

func stepsTable() string {
	var rows [][]string
	for _, entry := range nodestate.Steps() {
		reasons := "-"
		if len(entry.Reasons) > 0 {
			reasons = code(entry.Reasons)
		}
		rows = append(rows, []string{string(entry.Step), entry.Meaning, reasons})
	}
	return markdown([]string{"step", "meaning", "events"}, rows)
}

func metricsTable() string {
	var rows [][]string
	for _, m := range slices.Concat(metrics.All(), metrics.OfPools()) {
		meaning := m.Meaning
		if m.Dimension == metrics.NodePoolDimension {
			meaning += " For the pools of the setting `nodePoolMetrics`."
		} else if m.Dimension != "" {
			meaning += fmt.Sprintf(" By `%s`: %s.", m.Dimension, strings.Join(m.Series, ", "))
		}
		if m.FormerName != "" {
			meaning += fmt.Sprintf(" Also written as `%s`, its former name.", m.FormerName)
		}
		detail := string(metrics.DetailFull)
		if m.OfFailures || m.Dimension == metrics.NodePoolDimension {
			detail = string(metrics.DetailOff)
		} else if m.Few {
			detail = string(metrics.DetailFew)
		}
		rows = append(rows, []string{
			"`" + string(m.Name) + "`", m.Unit, "`" + detail + "`", strings.Join(m.Functions, ", "), meaning,
		})
	}
	return markdown([]string{"metric", "unit", "from detail", "written by", "meaning"}, rows)
}

func eventsTable() string {
	var rows [][]string
	for _, e := range api.EventReasons() {
		rows = append(rows, []string{
			"`" + e.Reason + "`", strings.Join(e.On, ", "), strings.Join(e.Functions, ", "), e.Meaning,
		})
	}
	var reasons []string
	remedies := map[string][]string{}
	for _, f := range fleet.KnownFailures() {
		if remedies[f.Reason] == nil {
			reasons = append(reasons, f.Reason)
		}
		remedies[f.Reason] = append(remedies[f.Reason], sentence(f.Remedy))
	}
	for _, reason := range reasons {
		meaning := "EC2 refused a launch: " + strings.Join(remedies[reason], " Or: ")
		rows = append(rows, []string{"`" + reason + "`", "NodeClaim, NodePool, EC2NodeClass", "provision", meaning})
	}
	return markdown([]string{"reason", "on", "from", "meaning"}, rows)
}

// errorCodesTable has what EC2's error codes mean for a launch. The remedies are in the table of events.
func errorCodesTable() string {
	var rows [][]string
	for _, answer := range fleet.Answers() {
		codes := strings.Join(answer.Codes, ", ")
		if codes == "" {
			codes = "any"
		}
		if answer.Words != "" {
			codes += ", with \"" + answer.Words + "\""
		}
		lasts := ""
		if answer.Lasts > 0 {
			lasts = fmt.Sprintf("%d min", int(answer.Lasts.Minutes()))
		}
		why := sentence(answer.Passes)
		if answer.Passes == "" {
			why = "`" + answer.Reason + "`"
		}
		rows = append(rows, []string{codes, answer.Scope, answer.Effect, lasts, why})
	}
	return markdown([]string{"code", "about", "effect", "for", "reason of the event, or why it passes"}, rows)
}

// sentence ends a text with a full stop.
func sentence(text string) string { return strings.TrimSuffix(text, ".") + "." }

func conditionsTable() string {
	var rows [][]string
	for _, c := range api.ConditionTypes() {
		reasons := code(c.Reasons)
		rows = append(rows, []string{c.Kind, "`" + c.Type + "`", c.Meaning, reasons})
	}
	return markdown([]string{"on", "condition", "True means", "reasons"}, rows)
}

// TestTablesAreComplete checks that every key, condition and reason that package api names is in its
// table.
func TestTablesAreComplete(t *testing.T) {
	listed := map[string]bool{}
	for _, a := range api.Annotations() {
		listed[a.Key] = true
	}
	for _, c := range api.ConditionTypes() {
		listed[c.Type] = true
		for _, reason := range c.Reasons {
			listed[reason] = true
		}
	}
	// The refusal of a launch sets this reason on any condition of a class.
	listed[api.ReasonLaunchRefused] = true

	for name, value := range constants(t, "api") {
		isKey := strings.HasSuffix(name, "AnnotationKey") || strings.HasPrefix(name, "Annotation")
		isCondition := strings.HasPrefix(name, "ConditionType") || strings.HasPrefix(name, "Reason")
		if (isKey || isCondition) && !listed[value] {
			t.Errorf("api.%s has no row in the tables of package api: add one", name)
		}
	}
}

// TestAnnotationDefaults checks the table's defaults against the code that applies them.
func TestAnnotationDefaults(t *testing.T) {
	want := map[string]string{
		api.MinimumSavingsAnnotationKey:        fmt.Sprint(settings.DefaultMinimumSavings),
		api.MinimumSavingsPercentAnnotationKey: fmt.Sprint(settings.DefaultMinimumSavingsPercent),
		api.SettleTimeAnnotationKey:            strings.TrimSuffix(settings.DefaultSettleTime.String(), "0s"),
	}
	for _, a := range api.Annotations() {
		if value, ok := want[a.Key]; ok && a.Default != value {
			t.Errorf("%s has the default %q in the table and %q in the code", a.Key, a.Default, value)
		}
	}
}

// TestEventReasonsAreListed finds the reasons of events in the code: texts that follow the type of an
// event, and those that the functions normal and warning get. Each must be in api.EventReasons.
func TestEventReasonsAreListed(t *testing.T) {
	var listed []string
	for _, e := range api.EventReasons() {
		listed = append(listed, e.Reason)
	}
	for _, folder := range []string{".", "../functions"} {
		for _, file := range goFiles(t, folder) {
			ast.Inspect(parse(t, file), func(node ast.Node) bool {
				for _, reason := range reasonsIn(node) {
					if !slices.Contains(listed, reason) {
						t.Errorf("%s: the event reason %q is not in api.EventReasons: add a row", file, reason)
					}
				}
				return true
			})
		}
	}
}

// reasonsIn returns the reasons of events that a call or a composite literal gives as texts.
func reasonsIn(node ast.Node) []string {
	var elements []ast.Expr
	var reasons []string
	switch node := node.(type) {
	case *ast.CallExpr:
		elements = node.Args
		reasons = reasonOfCall(node)
	case *ast.CompositeLit:
		elements = node.Elts
	}
	for i := 1; i < len(elements); i++ {
		before, this := elements[i-1], elements[i]
		if pair, ok := before.(*ast.KeyValueExpr); ok {
			before = pair.Value
		}
		if pair, ok := this.(*ast.KeyValueExpr); ok {
			this = pair.Value
		}
		eventType, isSelector := before.(*ast.SelectorExpr)
		text, isText := this.(*ast.BasicLit)
		if !isSelector || !isText || !strings.HasPrefix(eventType.Sel.Name, "EventType") {
			continue
		}
		if reason, err := strconv.Unquote(text.Value); err == nil {
			reasons = append(reasons, reason)
		}
	}
	return reasons
}

// reasonOfCall is the reason that a call of normal or warning gives as a text.
func reasonOfCall(call *ast.CallExpr) []string {
	name, isIdent := call.Fun.(*ast.Ident)
	if !isIdent || name.Name != "warning" && name.Name != "normal" || len(call.Args) != 3 {
		return nil
	}
	text, isText := call.Args[1].(*ast.BasicLit)
	if !isText {
		return nil
	}
	reason, err := strconv.Unquote(text.Value)
	if err != nil {
		return nil
	}
	return []string{reason}
}

// constants returns the constants of a folder's package that have a text as their value. The value of
// a key in a group is built from the group's constant.
func constants(t *testing.T, folder string) map[string]string {
	t.Helper()
	values := map[string]string{}
	var value func(ast.Expr) string
	value = func(expression ast.Expr) string {
		switch e := expression.(type) {
		case *ast.BasicLit:
			text, _ := strconv.Unquote(e.Value)
			return text
		case *ast.Ident:
			return values[e.Name]
		case *ast.BinaryExpr:
			return value(e.X) + value(e.Y)
		}
		return ""
	}
	// Twice, because a constant may stand before the one that it is built from.
	for range 2 {
		for _, file := range goFiles(t, folder) {
			ast.Inspect(parse(t, file), func(node ast.Node) bool {
				spec, ok := node.(*ast.ValueSpec)
				if ok && len(spec.Values) == len(spec.Names) {
					for i, name := range spec.Names {
						values[name.Name] = value(spec.Values[i])
					}
				}
				return true
			})
		}
	}
	return values
}

// goFiles returns the Go files below a folder that are not tests.
func goFiles(t *testing.T, folder string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

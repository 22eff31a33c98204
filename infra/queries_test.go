package infra

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// logged is a line of a function's log, by key.
type logged map[string]string

// incident has the lines of an hour in which much happened, as the functions write them. A line names the
// saved queries that have to find it, by their ids.
func incident() []struct {
	line logged
	in   string
} {
	return []struct {
		line logged
		in   string
	}{
		{logged{"function": "provision", "level": "WARN", "msg": "could not schedule pod", "Pod": "shop/web-1",
			"error": "nodepool default: no type has 400 CPU"}, "ErrorQuery PendingQuery"},
		{logged{"function": "provision", "level": "INFO", "msg": "failed launching nodeclaim", "NodeClaim": "default-a",
			"reason": "InsufficientCapacity"}, "PendingQuery"},
		{logged{"function": "provision", "level": "INFO", "msg": "launched nodeclaim", "NodeClaim": "default-b",
			"instance-type": "c7g.large", "price": "0.07"}, "LaunchQuery"},
		{logged{"function": "provision", "level": "INFO", "msg": "another invocation is provisioning: it sees the same pods"},
			"HoldQuery"},
		{logged{"function": "disrupt", "level": "INFO", "msg": "disrupting node(s)", "reason": "Drifted",
			"NodeClaim": "default-c"}, "EndQuery"},
		{logged{"function": "interrupt", "level": "INFO", "msg": "initiating delete from interruption message",
			"NodeClaim": "default-d", "messageKind": "EC2 Spot Instance Interruption Warning"}, "EndQuery"},
		{logged{"function": "lifecycle", "level": "INFO", "msg": "deleting unhealthy node", "condition": "Ready",
			"NodeClaim": "default-e"}, "EndQuery"},
		{logged{"function": "lifecycle", "level": "INFO", "msg": "a pod holds up the drain", "Pod": "shop/db-0",
			"Node": "ip-10-0-0-5"}, "HoldQuery"},
		{logged{"function": "lifecycle", "level": "WARN", "msg": "node repair is blocked", "NodePool": "default"},
			"ErrorQuery HoldQuery"},
		{logged{"function": "lifecycle", "level": "INFO", "msg": "deleted nodeclaim", "NodeClaim": "default-e"}, ""},
		{logged{"function": "catalog", "level": "ERROR", "msg": "invocation failed", "error": "no way to EC2"}, "ErrorQuery"},
	}
}

// TestQueriesAnswerAnIncident runs the filter of each saved query over the lines of an incident. The stories
// find their object alone.
func TestQueriesAnswerAnIncident(t *testing.T) {
	for _, happened := range incident() {
		var found []string
		for _, q := range queries() {
			if strings.Contains(q.text, "NAME") {
				name := happened.line["NodeClaim"]
				if q.id == "PodQuery" {
					name = happened.line["Pod"]
				}
				if name != "" && !finds(t, strings.ReplaceAll(q.text, "NAME", name), happened.line) {
					t.Errorf("the %s does not find %v", q.name, happened.line)
				}
				if finds(t, strings.ReplaceAll(q.text, "NAME", "no-such-object"), happened.line) {
					t.Errorf("the %s of another object finds %v", q.name, happened.line)
				}
			} else if finds(t, q.text, happened.line) {
				found = append(found, q.id)
			}
		}
		if got := strings.Join(found, " "); got != happened.in {
			t.Errorf("%v is found by %q, want %q", happened.line, got, happened.in)
		}
	}
}

var (
	term    = regexp.MustCompile(`^([@\w]+) (=|like) '([^']*)'$`)
	listed  = regexp.MustCompile(`^([@\w]+) in \[('[^\]]*')\]$`)
	literal = regexp.MustCompile(`'([^']*)'`)
	field   = regexp.MustCompile(`[@A-Za-z][\w-]*`)
)

// finds reports whether the filters of a query let a line through. It knows the part of the language that
// the queries use, and fails on any other.
func finds(t *testing.T, query string, line logged) bool {
	t.Helper()
	filters := 0
	for stage := range strings.SplitSeq(query, " | ") {
		expression, is := strings.CutPrefix(stage, "filter ")
		if !is {
			continue
		}
		filters++
		if !slices.ContainsFunc(strings.Split(expression, " or "), func(one string) bool { return holds(t, one, line) }) {
			return false
		}
	}
	if filters == 0 {
		t.Errorf("%s has no filter", query)
	}
	return true
}

func holds(t *testing.T, expression string, line logged) bool {
	t.Helper()
	if of := listed.FindStringSubmatch(expression); of != nil {
		for _, one := range literal.FindAllStringSubmatch(of[2], -1) {
			if line[of[1]] == one[1] {
				return true
			}
		}
		return false
	}
	of := term.FindStringSubmatch(expression)
	if of == nil {
		t.Fatalf("the test does not understand the filter %s", expression)
	}
	text := line[of[1]]
	if of[1] == "@message" {
		for key, value := range line {
			text += key + ":" + value + ","
		}
	}
	return of[2] == "=" && text == of[3] || of[2] == "like" && strings.Contains(text, of[3])
}

// TestQueriesNameWhatFunctionsWrite compares the messages and fields of saved queries and of the dashboard's
// graphs with the code that writes the lines.
func TestQueriesNameWhatFunctionsWrite(t *testing.T) {
	template := synthesize(t, "prod")
	texts := map[string]string{}
	for _, q := range queries() {
		texts[q.name] = q.text
	}
	for _, dashboard := range template.ofType("AWS::CloudWatch::Dashboard") {
		body := strings.ReplaceAll(encoded(t, dashboard.Properties["DashboardBody"]), `\"`, `"`)
		for _, found := range regexp.MustCompile(`"query":"([^"]*)"`).FindAllStringSubmatch(body, -1) {
			texts["graph "+found[1]] = found[1]
		}
	}
	if len(texts) < len(queries())+5 {
		t.Fatalf("only %d queries are found", len(texts))
	}
	written := writtenKeys(t)
	for name, text := range texts {
		var keys, messages []string
		for stage := range strings.SplitSeq(text, " | ") {
			if !strings.HasPrefix(stage, "filter msg ") {
				continue
			}
			for _, one := range literal.FindAllStringSubmatch(stage, -1) {
				of, known := written[one[1]]
				if !known {
					t.Errorf("%s: no function writes %q", name, one[1])
				}
				keys, messages = append(keys, of...), append(messages, one[1])
			}
		}
		for _, key := range fieldsOf(text) {
			if len(messages) > 0 && !slices.Contains(keys, key) && !slices.Contains(common(), key) {
				t.Errorf("%s: no line of %q has the field %q", name, messages, key)
			}
		}
	}
	for _, deletion := range deletions(t) {
		if !slices.Contains(endings(), deletion) {
			t.Errorf("the query of ends lacks %q", deletion)
		}
	}
}

// common are the keys that every line has, or that lifecycle adds to each line about a claim.
func common() []string {
	return []string{
		"@timestamp", "@message", "function", "level", "msg", "requestId", "NodeClaim", "Node", "provider-id",
	}
}

// fieldsOf are the fields that a query shows or counts.
func fieldsOf(text string) []string {
	var fields []string
	for stage := range strings.SplitSeq(text, " | ") {
		shown, is := strings.CutPrefix(stage, "fields ")
		if !is {
			shown, is = strings.CutPrefix(stage, "stats ")
		}
		if !is {
			continue
		}
		shown = regexp.MustCompile(` as \w+| by bin\(\w+\)|'[^']*'`).ReplaceAllString(shown, "")
		for _, name := range field.FindAllString(shown, -1) {
			if !slices.Contains([]string{"coalesce", "sum", "max", "avg", "strcontains"}, name) {
				fields = append(fields, name)
			}
		}
	}
	return fields
}

// inspect calls a function with each node of the functions' code.
func inspect(t *testing.T, visit func(ast.Node)) {
	t.Helper()
	for _, root := range []string{"../functions", "../shared"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if n != nil {
					visit(n)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// writtenKeys has, by the message of a line, the texts that stand beside it in the code, its keys among them.
func writtenKeys(t *testing.T) map[string][]string {
	t.Helper()
	written := map[string][]string{"counted nodes": {"spot", "on-demand", "reserved", "price", "saved"}}
	inspect(t, func(n ast.Node) {
		switch n.(type) {
		case *ast.CallExpr, *ast.CompositeLit:
		default:
			return
		}
		var beside []string
		ast.Inspect(n, func(below ast.Node) bool {
			if text := textOf(below); text != "" {
				beside = append(beside, text)
			}
			return true
		})
		for i, text := range beside {
			if i < 2 && strings.Contains(text, " ") { // a message comes first
				written[text] = append(written[text], beside...)
			}
		}
	})
	return written
}

// deletions are the messages of lifecycle's deletions.
func deletions(t *testing.T) []string {
	t.Helper()
	var all []string
	inspect(t, func(n ast.Node) {
		if call, is := n.(*ast.CallExpr); is && len(call.Args) > 0 {
			if of, is := call.Fun.(*ast.SelectorExpr); is && of.Sel.Name == "delete" {
				if text := textOf(call.Args[0]); text != "" {
					all = append(all, text)
				}
			}
		}
	})
	if len(all) < 5 {
		t.Fatalf("only the deletions %q are found", all)
	}
	return all
}

func textOf(n ast.Node) string {
	basic, is := n.(*ast.BasicLit)
	if !is || basic.Kind != token.STRING {
		return ""
	}
	text, err := strconv.Unquote(basic.Value)
	if err != nil {
		return ""
	}
	return text
}

package shared_test

import (
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
)

// logPage is the page with every message of a log that an operator may meet.
const logPage = "../functions/LOGS.md"

// message is a message of level INFO or above.
type message struct{ level, text string }

// TestTheLogPageHasEveryMessage compares the page with the code: level, message, and the functions that
// write it. "shared" stands for code that several functions use.
func TestTheLogPageHasEveryMessage(t *testing.T) {
	written := messagesOfCode(t)
	described := map[message]string{}
	content, err := os.ReadFile(logPage)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "| `") || len(cells) != 4 {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		m := message{cells[1], strings.Trim(cells[0], "`")}
		if described[m] != "" {
			t.Errorf("%s %q is there twice", m.level, m.text)
		}
		if described[m] = cells[2]; cells[3] == "" {
			t.Errorf("%s %q has no explanation", m.level, m.text)
		}
	}
	for m, from := range written {
		slices.Sort(from)
		if want := strings.Join(slices.Compact(from), ", "); described[m] != want {
			t.Errorf("%s lacks the row | `%s` | %s | %s |: it has %q", logPage, m.text, m.level, want, described[m])
		}
	}
	for m := range described {
		if written[m] == nil {
			t.Errorf("%s has %s %q, which nothing writes", logPage, m.level, m.text)
		}
	}
	if len(written) < 100 {
		t.Errorf("the code has only %d messages: does the test still find them?", len(written))
	}
}

// messagesOfCode returns the functions that write each message.
func messagesOfCode(t *testing.T) map[message][]string {
	t.Helper()
	found := map[message][]string{}
	for _, root := range []string{".", "../functions"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			from := "shared"
			if rest, ok := strings.CutPrefix(path, "../functions/"); ok {
				from, _, _ = strings.Cut(rest, "/")
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if level, text := messageOf(n); text != "" {
					found[message{level, text}] = append(found[message{level, text}], from)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// messageOf returns the message that a piece of code writes: a call of slog or of a method log or delete, or a
// step of the type Log.
func messageOf(n ast.Node) (level, text string) {
	switch n := n.(type) {
	case *ast.CallExpr:
		selector, ok := n.Fun.(*ast.SelectorExpr)
		if !ok {
			return "", ""
		}
		name := selector.Sel.Name
		if name == "log" || name == "delete" { // lifecycle's deletions log their reason
			return "INFO", literal(n.Args, 0)
		}
		if of, ok := selector.X.(*ast.Ident); !ok || of.Name != "slog" {
			return "", ""
		}
		level, inContext := strings.CutSuffix(name, "Context")
		at := 0
		if inContext {
			at = 1
		}
		switch level {
		case "Info", "Warn", "Error":
			return strings.ToUpper(level), literal(n.Args, at)
		case "Log":
			return "WARN", literal(n.Args, 2)
		}
	case *ast.CompositeLit:
		if fmt.Sprint(n.Type) != "Log" {
			return "", ""
		}
		level = "INFO"
		for _, element := range n.Elts {
			field, ok := element.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			switch fmt.Sprint(field.Key) {
			case "Warning":
				level = "WARN"
			case "Message":
				text = literal([]ast.Expr{field.Value}, 0)
			}
		}
	}
	return level, text
}

func literal(arguments []ast.Expr, at int) string {
	if at >= len(arguments) {
		return ""
	}
	basic, ok := arguments[at].(*ast.BasicLit)
	if !ok || basic.Kind != token.STRING {
		return ""
	}
	text, err := strconv.Unquote(basic.Value)
	if err != nil {
		return ""
	}
	return text
}

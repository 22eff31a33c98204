package events

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// defaultAgain is how long Karpenter's recorder keeps from writing an event again.
const defaultAgain = 2 * time.Minute

// written is what a constructor of Karpenter's returns: one event about one kind.
type written struct {
	constructor, reason, kind, eventType string
	again                                time.Duration
	limited                              bool // a rate limiter is shared by all objects
}

// source is the parsed code of Karpenter's modules, without tests.
type source struct {
	reasons map[string]string // the constants of pkg/events by their names
	calls   map[string]bool   // the names of all functions that are called
	written []written
}

// readKarpenter parses the code of both modules.
func readKarpenter(t *testing.T) source {
	t.Helper()
	s := source{reasons: map[string]string{}, calls: map[string]bool{}}
	var files []*ast.File
	for _, path := range []string{coreModule, awsModule} {
		files = append(files, parseAll(t, filepath.Join(module(t, path), "pkg"))...)
	}
	for _, file := range files {
		if file.Name.Name == "events" {
			s.addReasons(file)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok {
				s.calls[lastName(call.Fun)] = true
			}
			return true
		})
	}
	for _, file := range files {
		s.addEvents(t, file)
	}
	return s
}

// parseAll parses the Go files of a folder, without tests and without what only tests use.
func parseAll(t *testing.T, folder string) []*ast.File {
	t.Helper()
	var files []*ast.File
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "test" || entry.Name() == "fake" || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		files = append(files, file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// module is the folder of a module that this module requires.
func module(t *testing.T, path string) string {
	t.Helper()
	listed, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		t.Fatalf("finding %s: %v", path, err)
	}
	return strings.TrimSpace(string(listed))
}

// addReasons adds the constants of a file of a package events that have a text as their value.
func (s *source) addReasons(file *ast.File) {
	for _, declared := range file.Decls {
		constants, ok := declared.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST {
			continue
		}
		for _, spec := range constants.Specs {
			value := spec.(*ast.ValueSpec)
			for i, name := range value.Names {
				if i < len(value.Values) && text(value.Values[i]) != "" {
					s.reasons[name.Name] = text(value.Values[i])
				}
			}
		}
	}
}

// addEvents adds the events of a file's constructors. A helper takes the reason and the type as
// parameters: each function that calls it is a constructor.
func (s *source) addEvents(t *testing.T, file *ast.File) {
	t.Helper()
	functions := map[string]*ast.FuncDecl{}
	for _, declared := range file.Decls {
		if function, ok := declared.(*ast.FuncDecl); ok && function.Recv == nil {
			functions[function.Name.Name] = function
		}
	}
	for name, function := range functions {
		for _, literal := range literals(function) {
			if !isParameter(function, literal["Reason"]) {
				s.written = append(s.written, s.event(t, file, name, function, literal, nil))
				continue
			}
			for caller, calling := range functions {
				for _, arguments := range callsOf(calling, name) {
					s.written = append(s.written, s.event(t, file, caller, function, literal, arguments))
				}
			}
		}
	}
}

// literals are the fields of each events.Event that the function makes.
func literals(function *ast.FuncDecl) []map[string]ast.Expr {
	var found []map[string]ast.Expr
	ast.Inspect(function, func(node ast.Node) bool {
		literal, ok := node.(*ast.CompositeLit)
		if !ok {
			return true
		}
		fields := map[string]ast.Expr{}
		for _, element := range literal.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				fields[lastName(pair.Key)] = pair.Value
			}
		}
		if fields["InvolvedObject"] != nil {
			found = append(found, fields)
		}
		return true
	})
	return found
}

// event reads one literal. Arguments replace the parameters of a helper.
func (s *source) event(
	t *testing.T, file *ast.File, constructor string, function *ast.FuncDecl, literal map[string]ast.Expr,
	arguments []ast.Expr,
) written {
	t.Helper()
	value := func(field string) ast.Expr {
		expression := literal[field]
		if at := parameter(function, expression); at >= 0 && at < len(arguments) {
			return arguments[at]
		}
		return expression
	}
	found := written{constructor: constructor, again: defaultAgain, limited: literal["RateLimiter"] != nil}
	if reason := value("Reason"); reason != nil {
		if found.reason = text(reason); found.reason == "" {
			found.reason = s.reasons[lastName(reason)]
		}
		if found.reason == "" {
			t.Errorf("%s: the test cannot read the reason", constructor)
		}
	}
	found.eventType = strings.TrimPrefix(lastName(value("Type")), "EventType")
	if at := parameter(function, literal["InvolvedObject"]); at >= 0 {
		found.kind = parameterTypes(function)[at]
	}
	if literal["DedupeTimeout"] != nil {
		found.again = duration(t, file, literal["DedupeTimeout"])
	}
	if found.eventType == "" || found.kind == "" {
		t.Errorf("%s: the test cannot read the type %q or the kind %q", constructor, found.eventType, found.kind)
	}
	return found
}

// callsOf are the arguments of the function's calls of a name.
func callsOf(function *ast.FuncDecl, name string) [][]ast.Expr {
	var found [][]ast.Expr
	ast.Inspect(function, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok {
			if called, ok := call.Fun.(*ast.Ident); ok && called.Name == name {
				found = append(found, call.Args)
			}
		}
		return true
	})
	return found
}

func isParameter(function *ast.FuncDecl, expression ast.Expr) bool {
	return parameter(function, expression) >= 0
}

// parameter is the place of the parameter that the expression is, or -1.
func parameter(function *ast.FuncDecl, expression ast.Expr) int {
	used, ok := expression.(*ast.Ident)
	if !ok {
		return -1
	}
	at := 0
	for _, field := range function.Type.Params.List {
		for _, name := range field.Names {
			if name.Name == used.Name {
				return at
			}
			at++
		}
	}
	return -1
}

// parameterTypes are the names of the parameters' types, without packages.
func parameterTypes(function *ast.FuncDecl) []string {
	var names []string
	for _, field := range function.Type.Params.List {
		for range field.Names {
			names = append(names, lastName(field.Type))
		}
	}
	return names
}

// duration evaluates products such as 15 * time.Minute, and constants of the file.
func duration(t *testing.T, file *ast.File, expression ast.Expr) time.Duration {
	t.Helper()
	switch e := expression.(type) {
	case *ast.BinaryExpr:
		if e.Op == token.MUL {
			return duration(t, file, e.X) * duration(t, file, e.Y)
		}
	case *ast.BasicLit:
		if number, err := strconv.Atoi(e.Value); err == nil {
			return time.Duration(number)
		}
	case *ast.SelectorExpr:
		if unit, ok := map[string]time.Duration{"Minute": time.Minute, "Second": time.Second}[e.Sel.Name]; ok {
			return unit
		}
	case *ast.Ident:
		for _, declared := range file.Decls {
			constants, ok := declared.(*ast.GenDecl)
			if !ok || constants.Tok != token.CONST {
				continue
			}
			for _, spec := range constants.Specs {
				if value := spec.(*ast.ValueSpec); value.Names[0].Name == e.Name && len(value.Values) == 1 {
					return duration(t, file, value.Values[0])
				}
			}
		}
	}
	t.Errorf("the test cannot read the time after which an event is written again: %#v", expression)
	return 0
}

// text is the value of a literal text, or "".
func text(expression ast.Expr) string {
	literal, ok := expression.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return ""
	}
	value, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	return value
}

// lastName is the name of an identifier, also behind packages and pointers.
func lastName(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.StarExpr:
		return lastName(e.X)
	}
	return ""
}

package events

import (
	"go/ast"
	"path/filepath"
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
)

// kindsOfWhittle are the kinds that each of Whittle's events is about, as Kubernetes writes them.
func kindsOfWhittle() map[string][]string {
	kinds := map[string][]string{}
	for _, e := range api.EventReasons() {
		for _, kind := range e.On {
			kinds[e.Reason] = append(kinds[e.Reason], strings.ToUpper(kind[:1])+kind[1:])
		}
	}
	return kinds
}

// readWhittle parses the code of shared packages and functions, and reads the constants of reasons.
func readWhittle(t *testing.T) (read struct {
	files   []*ast.File
	reasons map[string]string // by the names of the constants
}) {
	t.Helper()
	for _, folder := range []string{"shared", "functions"} {
		read.files = append(read.files, parseAll(t, filepath.Join(repository, folder))...)
	}
	read.reasons = map[string]string{}
	for _, file := range read.files {
		own := source{reasons: map[string]string{}}
		own.addReasons(file)
		for name, reason := range own.reasons {
			if strings.HasPrefix(name, "Reason") || strings.HasPrefix(name, "EventReason") || file.Name.Name == "api" {
				read.reasons[name] = reason
			}
		}
	}
	return read
}

// typesOfWhittle are the types of Whittle's events by their reasons. They are read from its code: a
// type stands before its reason, or the name of the function that is called says the type.
func typesOfWhittle(t *testing.T) map[string]map[string]bool {
	t.Helper()
	read := readWhittle(t)
	constants := read.reasons
	types := map[string]map[string]bool{}
	add := func(reason ast.Expr, eventType string) {
		name := text(reason)
		if name == "" {
			name = constants[lastName(reason)]
		}
		if types[name] == nil {
			types[name] = map[string]bool{}
		}
		types[name][eventType] = true
	}
	for _, file := range read.files {
		ast.Inspect(file, func(node ast.Node) bool {
			values := valuesOf(node)
			calledType := typeByName(node)
			for i, value := range values {
				if name := lastName(value); strings.HasPrefix(name, "EventType") && i+1 < len(values) {
					add(values[i+1], strings.TrimPrefix(name, "EventType"))
				}
				if calledType != "" && (text(value) != "" || constants[lastName(value)] != "") {
					add(value, calledType)
				}
			}
			return true
		})
	}
	return types
}

// valuesOf are the arguments of a call, the values of a literal, or those of an assignment.
func valuesOf(node ast.Node) []ast.Expr {
	switch node := node.(type) {
	case *ast.CallExpr:
		return node.Args
	case *ast.CompositeLit:
		var values []ast.Expr
		for _, element := range node.Elts {
			if pair, ok := element.(*ast.KeyValueExpr); ok {
				element = pair.Value
			}
			values = append(values, element)
		}
		return values
	}
	return nil
}

// typeByName is the type that the name of a called function says, or of a step: claims that are given up
// have a warning.
func typeByName(node ast.Node) string {
	name := ""
	switch node := node.(type) {
	case *ast.CallExpr:
		name = lastName(node.Fun)
	case *ast.CompositeLit:
		name = lastName(node.Type)
	}
	switch name {
	case "normal":
		return "Normal"
	case "warning", "warn", "warnPool", "GiveUp":
		return "Warning"
	}
	return ""
}

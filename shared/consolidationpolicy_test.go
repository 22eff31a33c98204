package shared_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOnlyTheAPIReadsTheConsolidationPolicy fails where product code reads consolidationPolicy or
// consolidateAfter itself. Such code would overlook another reason for which a pool is not
// consolidated. NodePool.RefusesConsolidation has them all.
func TestOnlyTheAPIReadsTheConsolidationPolicy(t *testing.T) {
	listed := map[string]string{
		"functions/console/report/about.go": "prints both fields for people",
	}
	found := map[string]bool{}
	for _, folder := range []string{"shared", "functions"} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, entry fs.DirEntry, err error) error {
			name := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.HasPrefix(name, "shared/api/") || isTestSupport(filepath.Dir(name)) {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			for _, read := range policyReads(file) {
				found[name] = true
				if listed[name] == "" {
					t.Errorf("%s reads %s: ask the NodePool instead, as RefusesConsolidation and its neighbours do",
						files.Position(read.Pos()), read.Sel.Name)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if !found[name] {
			t.Errorf("%s is listed, and reads no such field", name)
		}
	}
}

// policyReads returns the selectors of both fields in a file. The type of the same name, as in
// api.ConsolidationPolicy, is not among them.
func policyReads(file *ast.File) []*ast.SelectorExpr {
	var reads []*ast.SelectorExpr
	ast.Inspect(file, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok || selector.Sel.Name != "ConsolidationPolicy" && selector.Sel.Name != "ConsolidateAfter" {
			return true
		}
		if base, ok := selector.X.(*ast.Ident); !ok || base.Name != "api" && base.Name != "legacy" {
			reads = append(reads, selector)
		}
		return true
	})
	return reads
}

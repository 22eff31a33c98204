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

// destructive are the methods that end something which only a new one can replace.
func destructive() []string {
	return []string{
		"DeleteNodeClaim", "DeleteUnchangedNodeClaim", "DeleteNode", "DeletePod", "Evict", "Terminate", "DeleteNodeLease",
		"DeleteLaunchTemplate", "DeleteProfile",
	}
}

// TestEveryDeletionIsListed compares the calls of destructive methods with a list. A new call needs
// a decision on a consistent read made just before, and a row in the table of functions/README.md.
func TestEveryDeletionIsListed(t *testing.T) {
	want := map[string]int{
		"provision DeleteNodeClaim":          1, // giveUp
		"provision DeleteUnchangedNodeClaim": 2, // shrink, and parts of gangs
		"disrupt DeleteUnchangedNodeClaim":   1,
		"interrupt DeleteNodeClaim":          1,
		"lifecycle DeleteUnchangedNodeClaim": 1,
		"lifecycle DeleteNode":               1,
		"lifecycle DeletePod":                1,
		"lifecycle Evict":                    1,
		"lifecycle Terminate":                1,
		"lifecycle DeleteNodeLease":          1,
		"lifecycle DeleteLaunchTemplate":     2, // of a deleted class, and idle ones
		"lifecycle DeleteProfile":            2, // the same
	}
	got := map[string]int{}
	root := filepath.Join("..", "functions")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.Contains(path, "functiontest") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		function, _, _ := strings.Cut(filepath.ToSlash(name), "/")
		ast.Inspect(file, func(node ast.Node) bool {
			if call, ok := node.(*ast.CallExpr); ok {
				if method, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(destructive(), method.Sel.Name) {
					got[function+" "+method.Sel.Name]++
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range slices.Sorted(maps.Keys(got)) {
		if got[call] != want[call] {
			t.Errorf("%s: %d calls, and %d are listed: see Deletions in functions/README.md", call, got[call], want[call])
		}
		delete(want, call)
	}
	for _, call := range slices.Sorted(maps.Keys(want)) {
		t.Errorf("%s is listed, and nobody calls it", call)
	}
}

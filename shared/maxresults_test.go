package shared_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestListsOfEC2HavePages finds the requests for lists of EC2. AWS advises against calls without MaxResults,
// which may be throttled and time out. EC2 takes none beside the ids of what it describes.
// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-pagination.html
func TestListsOfEC2HavePages(t *testing.T) {
	whole := []string{ // without such a parameter
		"DescribeAvailabilityZonesInput", "DescribePlacementGroupsInput", "DescribeReservedInstancesInput",
	}
	found := 0
	for _, root := range []string{".", "../functions", "../infra"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && entry.Name() == "node_modules" {
				return fs.SkipDir
			}
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			parsed, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(parsed, func(node ast.Node) bool {
				literal, is := node.(*ast.CompositeLit)
				if !is {
					return true
				}
				name := listOf(literal)
				if name == "" || slices.Contains(whole, name) {
					return true
				}
				found++
				if !slices.ContainsFunc(literal.Elts, bounds) {
					t.Errorf("%s: %s has neither MaxResults nor ids", files.Position(literal.Pos()), name)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 10 {
		t.Errorf("found %d requests for lists: are they called otherwise now?", found)
	}
}

// listOf is the name of the request's type, such as DescribeSubnetsInput, or empty for another literal.
func listOf(literal *ast.CompositeLit) string {
	selector, is := literal.Type.(*ast.SelectorExpr)
	if !is {
		return ""
	}
	from, is := selector.X.(*ast.Ident)
	if !is || from.Name != "ec2" || !strings.HasPrefix(selector.Sel.Name, "Describe") {
		return ""
	}
	return selector.Sel.Name
}

// bounds reports whether a field bounds the list.
func bounds(element ast.Expr) bool {
	pair, is := element.(*ast.KeyValueExpr)
	if !is {
		return false
	}
	key, is := pair.Key.(*ast.Ident)
	return is && (key.Name == "MaxResults" || strings.HasSuffix(key.Name, "Ids"))
}

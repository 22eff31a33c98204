package membership_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var printed = flag.Bool("list", false, "print the fields that decisions read")

// written are the types whose values a kubelet writes, at least in part.
var written = map[string]string{
	"k8s.io/api/core/v1.Node": "Node", "k8s.io/api/core/v1.NodeSpec": "Node.spec", "k8s.io/api/core/v1.NodeStatus": "Node.status",
	"k8s.io/api/core/v1.NodeCondition": "Node.status.conditions", "k8s.io/api/core/v1.NodeSystemInfo": "Node.status.nodeInfo",
	"k8s.io/api/core/v1.PodStatus":      "Pod.status",
	"k8s.io/api/storage/v1.CSINodeSpec": "CSINode.spec", "k8s.io/api/storage/v1.CSINodeDriver": "CSINode.spec.drivers",
	"k8s.io/api/coordination/v1.LeaseSpec": "Lease.spec",
}

// shown are packages that show objects to people and decide nothing, and those of tests.
var shown = regexp.MustCompile(`functions/console|functions/functiontest|functions/install|/cmd$|test$|shared/membership$`)

// TestThePageListsEachFieldThatDecisionsRead type-checks the packages that decide, and compares the fields of
// Nodes, CSINodes, Leases and statuses of pods that they read with the page's table.
func TestThePageListsEachFieldThatDecisionsRead(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([^|]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		for field := range strings.SplitSeq(row[1], "`, `") {
			listed[field] = true
		}
	}
	read := fieldsRead(t)
	for field, where := range read {
		if !listed[field] {
			t.Errorf("%s is read in %s, and the table in README.md lacks it: who may write it, and what bounds it?", field, where)
		}
	}
	for field := range listed {
		if _, there := read[field]; !there {
			t.Errorf("the table in README.md lists %s, which no decision reads", field)
		}
	}
	if *printed {
		names := []string{}
		for field, where := range read {
			names = append(names, field+"\t"+where)
		}
		slices.Sort(names)
		fmt.Println(strings.Join(names, "\n"))
	}
}

// listedPackage is what the go command says of a package.
type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// fieldsRead are the fields, each with a package that reads it.
func fieldsRead(t *testing.T) map[string]string {
	t.Helper()
	command := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly",
		"./functions/...", "./shared/...")
	command.Dir = filepath.Join("..", "..")
	var problems strings.Builder
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		t.Fatal(err, problems.String())
	}
	exports := map[string]string{}
	var deciding []listedPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var one listedPackage
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[one.ImportPath] = one.Export
		if !one.DepOnly && !shown.MatchString(one.ImportPath) {
			deciding = append(deciding, one)
		}
	}
	files := token.NewFileSet()
	lookup := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	read := map[string]string{}
	for _, one := range deciding {
		addFields(t, read, files, lookup, one)
	}
	return read
}

func addFields(
	t *testing.T, read map[string]string, files *token.FileSet, imports types.Importer, one listedPackage,
) {
	t.Helper()
	var parsed []*ast.File
	for _, name := range one.GoFiles {
		file, err := parser.ParseFile(files, filepath.Join(one.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	if _, err := (&types.Config{Importer: imports}).Check(one.ImportPath, files, parsed, info); err != nil {
		t.Fatal(err)
	}
	for _, selection := range info.Selections {
		if selection.Kind() != types.FieldVal {
			continue
		}
		of := selection.Recv()
		if pointer, is := of.(*types.Pointer); is {
			of = pointer.Elem()
		}
		path, known := written[of.String()]
		name := selection.Obj().Name()
		// Names, ages and identities come from the API server, and the parts have fields of their own.
		if !known || slices.Contains([]string{
			"Name", "Namespace", "UID", "ResourceVersion", "CreationTimestamp", "DeletionTimestamp", "ObjectMeta", "TypeMeta",
			"Spec", "Status", "Type",
		}, name) {
			continue
		}
		field := path + "." + strings.ToLower(name[:1]) + name[1:]
		short := strings.TrimPrefix(one.ImportPath, "github.com/whittle-dev/whittle/")
		if before, there := read[field]; !there || short < before {
			read[field] = short
		}
	}
}

package infra

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/whittle-dev/whittle/"

// servicesAsk are actions that only a function's own package calls by name, if any, with what asks for them.
var servicesAsk = map[string]string{
	"logs:CreateLogStream":    "Lambda",
	"logs:PutLogEvents":       "Lambda",
	"sqs:DeleteMessage":       "Lambda",
	"sqs:GetQueueAttributes":  "Lambda",
	"sqs:ReceiveMessage":      "Lambda",
	"ec2:RunInstances":        "EC2, for CreateFleet",
	"iam:PassRole":            "EC2, for CreateFleet",
	"ec2:AssignIpv6Addresses": "the VPC CNI of nodes",
	"iam:TagInstanceProfile":  "IAM, for CreateInstanceProfile",
}

// otherNames are the calls of the SDK, or of an own client, whose name is not the action's.
var otherNames = map[string]string{
	"lambda:InvokeFunction": "Invoke",
}

// code is the module's code, as far as functions link it.
type code struct {
	imports map[string][]string        // by package, from the module's root
	names   map[string]map[string]bool // the names that a package selects, such as SendMessage
	calls   map[string]map[string]bool // those that it calls with a context
	kinds   map[string][]string        // the client's methods, by the words of the paths that they ask for
}

func readCode(t *testing.T) *code {
	t.Helper()
	c := &code{
		imports: map[string][]string{}, kinds: map[string][]string{},
		names: map[string]map[string]bool{}, calls: map[string]map[string]bool{},
	}
	for _, root := range []string{"functions", "shared"} {
		err := filepath.WalkDir(filepath.Join("..", root), func(path string, entry os.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				return c.read(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := c.readClient("../shared/cluster", "../shared/api", "../shared/api/legacy"); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *code) read(path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return err
	}
	own := filepath.ToSlash(filepath.Dir(path))[len("../"):]
	withClient := false
	for _, imported := range file.Imports {
		if name := strings.Trim(imported.Path.Value, `"`); strings.HasPrefix(name, module) {
			c.imports[own] = append(c.imports[own], name[len(module):])
			withClient = withClient || name == module+"shared/cluster"
		}
	}
	if c.calls[own] == nil {
		c.names[own], c.calls[own] = map[string]bool{}, map[string]bool{}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.SelectorExpr:
			c.names[own][node.Sel.Name] = true
			if from, ok := node.X.(*ast.Ident); ok && from.Name == "cluster" && withClient {
				c.calls[own][node.Sel.Name] = true
			}
		case *ast.CallExpr:
			if !hasContext(node) {
				return true
			}
			// A method may be called, or be given to what calls it.
			for _, part := range append([]ast.Expr{node.Fun}, node.Args...) {
				if selector, ok := part.(*ast.SelectorExpr); ok {
					c.calls[own][selector.Sel.Name] = true
				}
			}
		}
		return true
	})
	return nil
}

// hasContext reports whether a call's first argument is a context, by the name that the code gives it.
func hasContext(call *ast.CallExpr) bool {
	if len(call.Args) == 0 {
		return false
	}
	first, ok := call.Args[0].(*ast.Ident)
	return ok && slices.Contains([]string{"ctx", "inTime", "work"}, first.Name)
}

// readClient finds which kinds each method of the client asks for: its own paths, and those of what it calls.
// The other folders have the names of kinds.
func (c *code) readClient(client string, names ...string) error {
	bodies := map[string]ast.Node{}
	for _, folder := range names {
		found, err := declared(folder)
		if err != nil {
			return err
		}
		maps.Copy(bodies, found)
	}
	own, err := declared(client)
	if err != nil {
		return err
	}
	maps.Copy(bodies, own)
	for method, body := range own {
		if _, ok := body.(*ast.FuncDecl); !ok || !ast.IsExported(method) {
			continue
		}
		words := map[string]bool{}
		wordsOf(method, bodies, map[string]bool{}, words)
		for word := range words {
			c.kinds[word] = append(c.kinds[word], method)
		}
	}
	return nil
}

// declared are the functions, methods, constants and variables of a package by their names.
func declared(folder string) (map[string]ast.Node, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	found := map[string]ast.Node{}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.FuncDecl:
				found[node.Name.Name] = node
				return false
			case *ast.ValueSpec:
				for _, name := range node.Names {
					found[name.Name] = node
				}
			}
			return true
		})
	}
	return found, err
}

// wordsOf collects the words of the paths in a declaration of the client, and in those that it uses.
func wordsOf(name string, bodies map[string]ast.Node, seen, words map[string]bool) {
	if seen[name] || bodies[name] == nil {
		return
	}
	seen[name] = true
	ast.Inspect(bodies[name], func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.BasicLit:
			if node.Kind == token.STRING {
				for _, word := range strings.Split(strings.Trim(node.Value, `"`), "/") {
					words[word] = true
				}
			}
		case *ast.SelectorExpr:
			wordsOf(node.Sel.Name, bodies, seen, words)
		case *ast.Ident:
			wordsOf(node.Name, bodies, seen, words)
		}
		return true
	})
}

// linked are the packages that a function's program links, from the module's root.
func (c *code) linked(function string) []string {
	seen, waiting := map[string]bool{}, []string{"functions/" + function + "/cmd", "functions/" + function}
	for len(waiting) > 0 {
		next := waiting[0]
		waiting = waiting[1:]
		if !seen[next] {
			seen[next] = true
			waiting = append(waiting, c.imports[next]...)
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// callers are the packages of a function that call an action of AWS, or the service that asks for it.
func (c *code) callers(function, action string) []string {
	name := otherNames[action]
	if name == "" {
		_, name, _ = strings.Cut(action, ":")
	}
	// The SDK turns pages by a type of its own, and SQS takes several messages at once.
	names := []string{name, "New" + name + "Paginator", name + "Batch"}
	service, own := servicesAsk[action], using([]string{"functions/" + function}, c.names, names...)
	if service != "" && len(own) == 0 {
		return []string{service}
	}
	return using(c.linked(function), c.names, names...)
}

// readers are the packages of a function that ask the API server for a kind, such as pods or pods/eviction.
func (c *code) readers(function, resource string) []string {
	kind, sub, _ := strings.Cut(resource, "/")
	var names []string
	for _, method := range c.kinds[kind] {
		if sub == "" || slices.Contains(c.kinds[sub], method) {
			names = append(names, method)
		}
	}
	own := func(name string) bool { return name == "shared/cluster" }
	return using(slices.DeleteFunc(c.linked(function), own), c.calls, names...)
}

// using are those of the packages that use one of the names.
func using(packages []string, used map[string]map[string]bool, names ...string) []string {
	var found []string
	for _, own := range packages {
		if slices.ContainsFunc(names, func(name string) bool { return used[own][name] }) {
			found = append(found, own)
		}
	}
	return found
}

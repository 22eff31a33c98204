package shared_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// surroundings returns, by package, what reads the time or the environment, or opens a connection. A
// function takes all of it from function.Deps. A star ends the beginning of several names.
func surroundings() map[string][]string {
	return map[string][]string{
		"time":                                {"Now", "Since", "Until"},
		"os":                                  {"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Stdin", "Stdout", "Stderr"},
		"os/exec":                             {"*"},
		"net":                                 {"Dial*", "Listen*", "Lookup*", "Resolve*", "DefaultResolver"},
		"crypto/tls":                          {"Dial*"},
		"net/http":                            {"DefaultClient", "DefaultTransport", "Client", "Transport", "Get", "Head", "Post*", "ListenAndServe*"},
		"github.com/aws/aws-lambda-go/cfn":    {"LambdaWrap*"},
		"github.com/aws/aws-sdk-go-v2/config": {"LoadDefaultConfig"},
		"github.com/aws/aws-sdk-go-v2/aws/transport/http": {"NewBuildableClient"},
	}
}

// ownSurroundings returns what files of the functions may use all the same, and why.
func ownSurroundings() map[string]string {
	return map[string]string{
		"shared/function/deps.go time.Now":                            "the default of Deps",
		"shared/function/deps.go os.Getenv":                           "the default of Deps",
		"shared/function/deps.go os.Stdout":                           "the default of Deps",
		"shared/function/configuration.go net.Dialer":                 "the default of Deps",
		"shared/function/configuration.go awshttp.NewBuildableClient": "the default of Deps",
		"shared/function/configuration.go config.LoadDefaultConfig": "the SDK reads its own variables, and its client " +
			"is replaced",
		"shared/function/invocation.go time.Until": "Go's clock ends contexts, and not that of Deps",
		"shared/function/run.go os.Getenv":         "Run serves a process",
		"shared/function/run.go os.Stdin":          "Run serves a process",
		"shared/function/run.go os.Stdout":         "Run serves a process",
		"shared/function/run.go os.Stderr":         "Run serves a process",
		"shared/cluster/client.go time.Now":        "the clock of NewForConfig, by which the command line connects",
		"functions/install/answer.go http.Client":  "it has the transport of Deps",
	}
}

// TestFunctionsTakeTheirSurroundings walks the sources of all packages that functions consist of. A
// simulation has its own time and network. What reads others is out of its order, and two runs of a
// seed differ.
func TestFunctionsTakeTheirSurroundings(t *testing.T) {
	unused := ownSurroundings()
	files := token.NewFileSet()
	for _, p := range functionPackages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		for _, name := range p.GoFiles {
			parsed, err := parser.ParseFile(files, filepath.Join("..", path, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for at, used := range outside(parsed) {
				key := path + "/" + name + " " + used
				delete(unused, key)
				if ownSurroundings()[key] == "" {
					t.Errorf("%s uses %s: take it from function.Deps", files.Position(at), used)
				}
			}
		}
	}
	for key := range unused {
		t.Errorf("%s is not used any more: remove its row of ownSurroundings", key)
	}
}

// functionPackages returns the packages of shared, events and functions that the functions consist of,
// without their programs.
func functionPackages(t *testing.T) []goPackage {
	t.Helper()
	all := listPackages(t)
	linked := map[string]bool{}
	programs := 0
	for _, p := range all {
		if function, isProgram := strings.CutSuffix(p.ImportPath, "/cmd"); isProgram {
			programs++
			linked[function] = true
			for _, dependency := range p.Deps {
				linked[dependency] = true
			}
		}
	}
	if programs != 9 {
		t.Fatalf("%d functions have a program in the folder cmd, want 9", programs)
	}
	return slices.DeleteFunc(all, func(p goPackage) bool { return !linked[p.ImportPath] })
}

// outside returns what a file uses of surroundings, by position.
func outside(file *ast.File) map[token.Pos]string {
	banned := map[string][]string{} // by the name in the file
	for _, imported := range file.Imports {
		path, err := strconv.Unquote(imported.Path.Value)
		if err != nil {
			continue // the compiler refuses it
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if imported.Name != nil {
			name = imported.Name.Name
		}
		banned[name] = append(banned[name], surroundings()[path]...)
	}
	found := map[token.Pos]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if from, ok := selector.X.(*ast.Ident); ok && isBanned(banned[from.Name], selector.Sel.Name) {
			found[selector.Pos()] = from.Name + "." + selector.Sel.Name
		}
		return true
	})
	return found
}

func isBanned(names []string, name string) bool {
	return slices.ContainsFunc(names, func(banned string) bool {
		begin, several := strings.CutSuffix(banned, "*")
		return banned == name || several && strings.HasPrefix(name, begin)
	})
}

// TestTheWalkSeesTheTime checks the walk itself.
func TestTheWalkSeesTheTime(t *testing.T) {
	const source = `package p

import (
	clock "time"
	"net"
	web "net/http"
)

var began, client, connect, fine = clock.Now(), web.DefaultClient, net.DialTimeout, web.NewRequest
`
	parsed, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(maps.Values(outside(parsed)))
	if want := []string{"clock.Now", "net.DialTimeout", "web.DefaultClient"}; !slices.Equal(got, want) {
		t.Errorf("the walk found %q, want %q", got, want)
	}
}

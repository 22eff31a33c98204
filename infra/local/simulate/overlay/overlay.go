// Package overlay compiles Whittle's functions into the simulation.
//
// A function is a Go program: a package main, which no other package can import. Write makes an overlay
// for the go command, in which each function is a package of its own name and its func main returns the
// handler. The functions' network and clocks are those of the simulation. Nothing on disk changes.
// Every replacement must find its text, so that the list here cannot rot.
//
// A planted fault is one more list of replacements: see package planted.
package overlay

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Replacement replaces a text of a file, which must have it exactly Times times; 0 means once.
type Replacement struct {
	File     string // from the project's folder
	Old, New string
	Times    int
}

// Functions are the functions that the simulation runs.
func Functions() []string {
	return []string{"ticker", "provision", "interrupt", "lifecycle", "disrupt", "watch", "catalog"}
}

// seams are the replacements by which the functions get the simulation's network and clocks.
func seams() []Replacement {
	const connect, client, configuration = "shared/function/connect.go", "shared/cluster/client.go",
		"shared/function/configuration.go"
	return []Replacement{
		{File: configuration, Old: "loaded.HTTPClient = plainBodies{loaded.HTTPClient}",
			New: "loaded.HTTPClient = seam.Current()"},
		{File: configuration, Old: "\t\"github.com/aws/aws-sdk-go-v2/config\"\n",
			New: "\t\"github.com/aws/aws-sdk-go-v2/config\"\n\n\t\"github.com/whittle-dev/whittle/shared/seam\"\n"},
		{File: connect, Old: "now: wallClock,", New: "now: seam.Clock(),"},
		{File: connect, Old: "c.config.Credentials))", New: "c.config.Credentials), c.config.HTTPClient.(*seam.Container))"},
		{File: connect, Old: "\t\"github.com/whittle-dev/whittle/shared/cluster\"\n",
			New: "\t\"github.com/whittle-dev/whittle/shared/cluster\"\n\t\"github.com/whittle-dev/whittle/shared/seam\"\n"},
		{File: client, Old: "func New(endpoint Endpoint, tokens *TokenSource) (*Client, error) {",
			New: "func New(endpoint Endpoint, tokens *TokenSource, through http.RoundTripper) (*Client, error) {"},
		{File: client, Old: "TLSClientConfig: rest.TLSClientConfig{CAData: endpoint.CertificateAuthority},",
			New: "Transport: through,"},
		{File: "shared/queue/queue.go", Old: "now: time.Now}", New: "now: seam.Clock()}"},
		{File: "shared/queue/queue.go", Old: "\t\"github.com/aws/smithy-go\"\n)",
			New: "\t\"github.com/aws/smithy-go\"\n\n\t\"github.com/whittle-dev/whittle/shared/seam\"\n)"},
		// Which of several launches gets a lock first is up to Go's scheduler. Without the lock they make the
		// template twice, as two containers do.
		{File: "shared/fleet/template.go", Old: "\tc.making.Lock()\n\tdefer c.making.Unlock()\n", New: ""},
		// Likewise the places for nominations, for which the goroutines of several claims compete.
		{File: "functions/lifecycle/pass.go", Old: "nominations: make(chan struct{}, parallel),",
			New: "nominations: make(chan struct{}, 1000),"},
		// The local AWS waits before long answers, because of a fault of HTTP connections. Here are none.
		{File: "infra/local/wire/server.go", Old: "leastLatency = 5 * time.Millisecond", New: "leastLatency = 0"},
	}
}

// fixed are the replacements in Go itself that take chance out of the order of map iterations, of the ready
// cases of a select, and of timers that fire at one time. Without them two runs of a seed differ wherever
// the product iterates over a map and makes calls.
func fixed() []Replacement {
	const maps, alg = "internal/runtime/maps/", "runtime/alg.go"
	return []Replacement{
		{File: goroot + maps + "map.go", Old: "m.seed = uintptr(rand())", New: "m.seed = 1", Times: 4},
		{File: goroot + maps + "table.go", Old: "it.entryOffset = rand()", New: "it.entryOffset = 0"},
		{File: goroot + maps + "table.go", Old: "it.dirOffset = rand()", New: "it.dirOffset = 0"},
		{File: goroot + alg, Old: "hashkey[i] = uintptr(bootstrapRand())",
			New: "hashkey[i] = uintptr(i+1) * 0x9e3779b97f4a7c15"},
		{File: goroot + alg, Old: "key[i] = bootstrapRand()", New: "key[i] = uint64(i+1) * 0x9e3779b97f4a7c15"},
		// A select without chance may starve a case, so that each goroutine counts its draws.
		{File: goroot + "runtime/select.go", Old: "j := cheaprandn(uint32(norder + 1))",
			New: "drawer := getg()\n\t\tdrawer.draws = drawer.draws*1664525 + 1013904223\n" +
				"\t\tj := (drawer.draws >> 16) % uint32(norder+1)"},
		{File: goroot + "runtime/runtime2.go", Old: "\tgoid         uint64\n",
			New: "\tgoid         uint64\n\tdraws uint32\n"},
		{File: goroot + "runtime/proc.go", Old: "newg.startpc = fn.fn\n",
			New: "newg.startpc = fn.fn\n\tnewg.draws = 0\n"},
		// A goroutine runs until it waits. Otherwise a busy machine interrupts it, and another one comes first.
		{File: goroot + "runtime/proc.go", Old: "const forcePreemptNS = 10 * 1000 * 1000",
			New: "const forcePreemptNS = 1 << 60"},
		{File: goroot + "runtime/time.go", Old: "t.rand = cheaprand()", New: "t.rand = 0"},
	}
}

// virtual are the replacements without which a program that waits for the clock never ends where only
// waiting advances it. The AWS SDK rounds the time until it has a token down, even to nothing, so that the
// shortest wait is a nanosecond here.
func virtual() []Replacement {
	return []Replacement{
		{
			File: goroot + "time/sleep.go", Old: "if d <= 0 {\n\t\treturn runtimeNano()\n",
			New: "if d <= 0 {\n\t\treturn runtimeNano() + 1\n",
		},
		// A function may hold a lock during a call. Who waits for the lock then waits for the simulation.
		{
			File: goroot + "runtime/runtime2.go", Old: "\twaitReasonSynctestWaitGroupWait: true,\n",
			New: "\twaitReasonSynctestWaitGroupWait: true,\n\twaitReasonSyncMutexLock: true,\n" +
				"\twaitReasonSyncRWMutexLock: true,\n\twaitReasonSyncRWMutexRLock: true,\n",
		},
	}
}

// goroot begins the names of files of Go itself.
const goroot = "GOROOT/src/"

// path is where a file is on disk.
func (o *overlay) path(file string) string {
	if rest, isGo := strings.CutPrefix(file, goroot); isGo {
		return filepath.Join(o.goroot, "src", rest)
	}
	return filepath.Join(o.root, file)
}

// ask returns the answer of the go command.
func ask(root string, arguments ...string) (string, error) {
	command := exec.Command("go", arguments...)
	command.Dir = root
	answer, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("asking go %s: %w", strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(answer)), nil
}

// Write writes the overlay into a folder and returns the file for the go command's option -overlay.
// Root is the project's folder. More are replacements after those of the simulation itself.
func Write(root, folder string, more ...Replacement) (string, error) {
	o := &overlay{root: root, folder: folder, files: map[string]string{}}
	var err error
	if o.goroot, err = ask(root, "env", "GOROOT"); err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	for _, name := range Functions() {
		if err := o.function(name); err != nil {
			return "", err
		}
	}
	for _, one := range slices.Concat(seams(), fixed(), virtual(), more) {
		if err := o.replace(one); err != nil {
			return "", err
		}
	}
	for file, source := range map[string]string{
		"shared/seam/seam.go": "seam.go.txt", "shared/function/entry.go": "entry.go.txt",
		"infra/local/simulate/product/simulate_test.go": "simulate_test.go.txt",
	} {
		content, err := os.ReadFile(filepath.Join(root, "infra/local/simulate/seam", source))
		if err != nil {
			return "", err
		}
		o.files[file] = string(content)
	}
	return o.write()
}

type overlay struct {
	root, folder, goroot string
	files                map[string]string
	hidden               []string
}

// content returns the file as it is so far.
func (o *overlay) content(file string) (string, error) {
	if content, changed := o.files[file]; changed {
		return content, nil
	}
	content, err := os.ReadFile(o.path(file))
	return string(content), err
}

func (o *overlay) replace(r Replacement) error {
	content, err := o.content(r.File)
	if err != nil {
		return err
	}
	times := max(r.Times, 1)
	if found := strings.Count(content, r.Old); found != times {
		return fmt.Errorf("%s has %d times the text %q and not %d times: bring the simulation up to date with it",
			r.File, found, r.Old, times)
	}
	o.files[r.File] = strings.ReplaceAll(content, r.Old, r.New)
	return nil
}

// function turns a program into a package whose function Main returns the handler.
func (o *overlay) function(name string) error {
	folder := filepath.Join("functions", name)
	entries, err := os.ReadDir(filepath.Join(o.root, folder))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), "_test.go") {
			o.hidden = append(o.hidden, filepath.Join(folder, entry.Name())) // they belong to the package main
		}
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		err := o.replace(Replacement{File: filepath.Join(folder, entry.Name()), Old: "\npackage main\n",
			New: "\npackage " + name + "\n"})
		if err != nil { // the clause is the file's first line
			err = o.replace(Replacement{File: filepath.Join(folder, entry.Name()), Old: "package main\n",
				New: "package " + name + "\n"})
		}
		if err != nil {
			return err
		}
	}
	main := filepath.Join(folder, "main.go")
	for _, one := range []Replacement{
		{File: main, Old: "func main() {", New: "// Main returns the handler.\nfunc Main() (seam.Handler, error) {"},
		{File: main, Old: "\tfunction.Run(", New: "\treturn function.Entry("},
		{File: main, Old: "now: time.Now", New: "now: seam.Clock()"},
		{File: main, Old: "\t\"github.com/whittle-dev/whittle/shared/function\"\n",
			New: "\t\"github.com/whittle-dev/whittle/shared/function\"\n\t\"github.com/whittle-dev/whittle/shared/seam\"\n"},
	} {
		if err := o.replace(one); err != nil {
			return err
		}
	}
	content := o.files[main]
	// Some programs name time for their clock only.
	if !usesTime().MatchString(content) {
		o.files[main] = strings.Replace(content, "\t\"time\"\n", "", 1)
	}
	return nil
}

func usesTime() *regexp.Regexp { return regexp.MustCompile(`\btime\.[A-Z]`) }

// write writes the changed files and the list of them.
func (o *overlay) write() (string, error) {
	replace := map[string]string{}
	for _, file := range o.hidden {
		replace[filepath.Join(o.root, file)] = ""
	}
	for file, content := range o.files {
		// The name does not end in .go, so that the folder is no package.
		written := filepath.Join(o.folder, strings.ReplaceAll(file, "/", "_")+".txt")
		if err := os.WriteFile(written, []byte(content), 0o644); err != nil {
			return "", err
		}
		replace[o.path(file)] = written
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(o.folder, "overlay.json")
	return file, os.WriteFile(file, list, 0o644)
}

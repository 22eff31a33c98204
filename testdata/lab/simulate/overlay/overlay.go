// Package overlay changes Go's runtime for the simulation, without which a seed would not decide everything.
//
// Write makes an overlay for the go command: it compiles changed copies of Go's own files. Nothing on disk
// changes. Every replacement must find its text, so that the list here cannot rot.
//
// A planted fault is one more list of replacements, in the source of Whittle: see package planted.
package overlay

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Replacement replaces a text of a file, which must have it exactly Times times; 0 means once.
type Replacement struct {
	File     string // from the project's folder
	Old, New string
	Times    int
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
	return Plain(root, folder, slices.Concat(fixed(), virtual(), more)...)
}

// Plain is Write without the replacements of the simulation.
func Plain(root, folder string, replacements ...Replacement) (string, error) {
	o := &overlay{root: root, folder: folder, files: map[string]string{}}
	var err error
	if o.goroot, err = ask(root, "env", "GOROOT"); err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	for _, one := range replacements {
		if err := o.replace(one); err != nil {
			return "", err
		}
	}
	return o.write()
}

type overlay struct {
	root, folder, goroot string
	files                map[string]string
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

// write writes the changed files and the list of them.
func (o *overlay) write() (string, error) {
	replace := map[string]string{}
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

package clock

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"
)

// reading is the line of time.Now that asks the machine for the time; added is the line that
// follows it.
const (
	reading = "\tsec, nsec, mono := runtimeNow()\n"
	added   = "\tsec, nsec = shown(sec, nsec)\n"
)

//go:embed ahead.go.txt
var ahead []byte

// Build compiles programs of the module at root into the folder out, with a clock that can be set.
// Programs are packages by the names of their files. It uses the flags of the functions' own build,
// for this machine. The first build compiles all imports and takes a minute and a half on two cores;
// Go's build cache keeps them. Errors: a Go release whose time.Now has another form, and errors of
// the compiler.
func Build(ctx context.Context, root, out string, programs map[string]string) error {
	overlay, err := overlay(ctx, root, out)
	if err != nil {
		return fmt.Errorf("building with a clock that can be set: %w", err)
	}
	building, ctx := errgroup.WithContext(ctx)
	building.SetLimit(runtime.NumCPU())
	for name, program := range programs {
		building.Go(func() error {
			command := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-tags", "lambda.norpc", "-trimpath",
				"-buildvcs=false", "-ldflags", "-s -w", "-o", filepath.Join(out, name), program)
			command.Dir = root
			command.Env = append(os.Environ(), "CGO_ENABLED=0")
			if said, err := command.CombinedOutput(); err != nil {
				return fmt.Errorf("building %s with a clock that can be set: %w\n%s", program, err, said)
			}
			return nil
		})
	}
	return building.Wait()
}

// overlay writes the changed files and the list of them for the go command.
func overlay(ctx context.Context, root, out string) (string, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "time")
	command.Dir = root
	listed, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("finding Go's package time: %w", err)
	}
	source := strings.TrimSpace(string(listed))
	content, err := os.ReadFile(filepath.Join(source, "time.go"))
	if err != nil {
		return "", err
	}
	before, after, found := strings.Cut(string(content), "func Now() Time {\n"+reading)
	if !found {
		return "", fmt.Errorf("func Now of %s does not begin with %q: bring this package up to date with that Go",
			filepath.Join(source, "time.go"), reading)
	}
	changed := map[string][]byte{
		"time.go":  []byte(before + "func Now() Time {\n" + reading + added + after),
		"ahead.go": ahead,
	}
	replace := map[string]string{}
	for name, content := range changed {
		// The name does not end in .go, so that the folder is no package.
		written := filepath.Join(out, name+".txt")
		if err := os.WriteFile(written, content, 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(source, name)] = written
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(out, "overlay.json")
	return file, os.WriteFile(file, list, 0o644)
}

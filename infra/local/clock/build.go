package clock

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// reading is the line of Go's time.Now that asks the machine, and added what comes after it.
const (
	reading = "\tsec, nsec, mono := runtimeNow()\n"
	added   = "\tsec += ahead()\n"
)

//go:embed ahead.go.txt
var ahead []byte

// Build builds the packages of the module at root as its functions are built, but for this
// machine and with a clock that can be set, into the folder out. The first time everything
// they import is compiled anew, which takes a minute and a half on two cores; Go's build
// cache keeps it. Errors: a Go whose time.Now has another form, and what the compiler says.
func Build(ctx context.Context, root, out string, packages ...string) error {
	overlay, err := overlay(ctx, root, out)
	if err != nil {
		return fmt.Errorf("building with a clock that can be set: %w", err)
	}
	arguments := []string{"build", "-overlay", overlay, "-tags", "lambda.norpc", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", out + string(filepath.Separator)}
	command := exec.CommandContext(ctx, "go", append(arguments, packages...)...)
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s with a clock that can be set: %w\n%s", strings.Join(packages, ", "), err, said)
	}
	return nil
}

// overlay writes the changed files and the list of them, which the go command reads.
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
		return "", fmt.Errorf("func Now of %s does not begin with %q: bring this package up to date with that Go", filepath.Join(source, "time.go"), reading)
	}
	changed := map[string][]byte{
		"time.go":  []byte(before + "func Now() Time {\n" + reading + added + after),
		"ahead.go": ahead,
	}
	replace := map[string]string{}
	for name, content := range changed {
		// Not named as Go files, so that nobody takes the folder for a package.
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

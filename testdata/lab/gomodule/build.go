package gomodule

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Program is what Build compiles.
type Program struct {
	// Name begins the name of the folder that the binary is kept in. It is for people, too.
	Name string
	// Source is the folder of the nested module, and Package the import path of the program.
	Source, Package string
	// Recipe is part of the kept binary's name: raise it when the way of building changes.
	Recipe string
	// Patch is made before the build. The zero value changes nothing.
	Patch Patch
}

// Build compiles the program and returns the path of its binary. The binary stays below
// os.UserCacheDir()/whittle, so that the next call returns at once if nothing has changed. Progress
// gets a line before and after a build, which takes some minutes of processor time. An error
// includes the compiler's output.
func (p *Program) Build(ctx context.Context, progress io.Writer) (string, error) {
	made, err := p.build(ctx, progress)
	if err != nil {
		return "", fmt.Errorf("building %s: %w", p.Name, err)
	}
	return made, nil
}

func (p *Program) build(ctx context.Context, progress io.Writer) (string, error) {
	caches, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	digest, err := p.digest(ctx)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(caches, "whittle", p.Name+"-"+digest)
	binary := filepath.Join(folder, "controller")
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	temporary, err := os.MkdirTemp(folder, "building-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	_, _ = fmt.Fprintf(progress, "building %s from its Go module: once, about 6 minutes of processor time\n", p.Name)
	began := time.Now()
	made := filepath.Join(temporary, "controller")
	arguments := []string{"build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", made}
	if p.Patch.Module != "" {
		modfile, err := p.Patch.apply(ctx, p.Source, temporary)
		if err != nil {
			return "", err
		}
		arguments = append(arguments, "-modfile", modfile)
	}
	build := command(ctx, p.Source, append(arguments, p.Package)...)
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, said)
	}
	_, _ = fmt.Fprintf(progress, "built %s in %s\n", binary, time.Since(began).Round(time.Second))
	return binary, os.Rename(made, binary)
}

// digest identifies a build by the required modules, the Go version and the platform.
func (p *Program) digest(ctx context.Context) (string, error) {
	version, err := command(ctx, p.Source, "env", "GOVERSION").Output()
	if err != nil {
		return "", fmt.Errorf("asking for the Go version: %w", err)
	}
	hash := sha256.New()
	_, _ = fmt.Fprintln(hash, p.Recipe, strings.TrimSpace(string(version)), runtime.GOOS, runtime.GOARCH)
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(p.Source, name))
		if err != nil {
			return "", err
		}
		hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// Folder is where the go command keeps a module that the one at source requires.
func Folder(ctx context.Context, source, path string) (string, error) {
	if said, err := command(ctx, source, "mod", "download", path).CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetching %s: %w\n%s", path, err, said)
	}
	listed, err := command(ctx, source, "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", path, err)
	}
	return strings.TrimSpace(string(listed)), nil
}

// command runs the go command in the nested module, for this machine.
func command(ctx context.Context, source string, arguments ...string) *exec.Cmd {
	made := exec.CommandContext(ctx, "go", arguments...)
	made.Dir = source
	made.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH,
		"GOTOOLCHAIN=auto") // Some ask for a newer Go than Whittle. The go command fetches it.
	// Interrupted, the go command ends its compilers and cleans up; killed, it does neither.
	made.Cancel = func() error { return made.Process.Signal(os.Interrupt) }
	made.WaitDelay = 5 * time.Second
	return made
}

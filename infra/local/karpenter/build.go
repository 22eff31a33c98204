package karpenter

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

const (
	// buildRecipe is part of the kept binary's name: raise it when the way of building changes.
	buildRecipe = "2"
	module      = "github.com/aws/karpenter-provider-aws"
	core        = "sigs.k8s.io/karpenter"
)

// Newest is the version that the project follows. An older one is there to migrate from and to.
const Newest = "1.15"

// Folder holds Karpenter's stack and rights, and a nested module for each version, in the
// repository at root.
func Folder(root string) string { return filepath.Join(root, "testdata", "karpenter") }

// nestedModule returns the nested module that requires a version such as "1.15". An empty version means
// Newest. The error names the known ones.
func nestedModule(root, version string) (string, error) {
	if version == "" {
		version = Newest
	}
	folder := filepath.Join(Folder(root), version)
	if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
		return folder, nil
	}
	known, err := filepath.Glob(filepath.Join(Folder(root), "*", "go.mod"))
	if err != nil {
		return "", err
	}
	for i, path := range known {
		known[i] = filepath.Base(filepath.Dir(path))
	}
	return "", fmt.Errorf("no module of Karpenter %q: give one of %s", version, strings.Join(known, ", "))
}

// Build compiles the controller of a version of Karpenter and returns the path of its binary. The binary stays below
// os.UserCacheDir()/whittle, so the next call returns at once if nothing has changed. The first
// build takes about six minutes of processor time. An error includes the compiler's output.
func Build(ctx context.Context, root, version string, progress io.Writer) (string, error) {
	source, err := nestedModule(root, version)
	if err != nil {
		return "", err
	}
	caches, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("building Karpenter: %w", err)
	}
	digest, err := digest(ctx, source)
	if err != nil {
		return "", fmt.Errorf("building Karpenter: %w", err)
	}
	folder := filepath.Join(caches, "whittle", "karpenter-"+digest)
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
	_, _ = fmt.Fprintln(progress,
		"building Karpenter's controller from its Go module: once, about 6 minutes of processor time")
	began := time.Now()
	modfile, err := loopback(ctx, source, temporary)
	if err != nil {
		return "", fmt.Errorf("building Karpenter: %w", err)
	}
	made := filepath.Join(temporary, "controller")
	build := goCommand(ctx, source, "build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-modfile", modfile,
		"-ldflags", "-s -w", "-o", made, module+"/cmd/controller")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building Karpenter: %w\n%s", err, said)
	}
	_, _ = fmt.Fprintf(progress, "built %s in %s\n", binary, time.Since(began).Round(time.Second))
	return binary, os.Rename(made, binary)
}

// digest identifies a build by the required modules, the Go version and the platform.
func digest(ctx context.Context, source string) (string, error) {
	version, err := goCommand(ctx, source, "env", "GOVERSION").Output()
	if err != nil {
		return "", fmt.Errorf("asking for the Go version: %w", err)
	}
	hash := sha256.New()
	_, _ = fmt.Fprintln(hash, buildRecipe, strings.TrimSpace(string(version)), runtime.GOOS, runtime.GOARCH)
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return "", err
		}
		hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// loopback writes a go.mod that makes the controller serve its metrics and probes on the loopback
// address only. The controller has no setting for that. Nothing else changes. It returns the file's
// path.
func loopback(ctx context.Context, source, folder string) (string, error) {
	directory, err := moduleFolder(ctx, source, core)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(folder, "core")
	if err := os.CopyFS(changed, os.DirFS(directory)); err != nil {
		return "", err
	}
	file := filepath.Join(changed, "pkg", "operator", "operator.go")
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	const everywhere = `BindAddress: fmt.Sprintf(":%d",`
	if !strings.Contains(string(content), everywhere) {
		return "", fmt.Errorf("pkg/operator/operator.go of %s has no %q: bring this package up to date with that Karpenter",
			directory, everywhere)
	}
	if err := os.WriteFile(file,
		[]byte(strings.ReplaceAll(string(content), everywhere, `BindAddress: fmt.Sprintf("127.0.0.1:%d",`)),
		0o644); err != nil {
		return "", err
	}
	required, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return "", err
	}
	sums, err := os.ReadFile(filepath.Join(source, "go.sum"))
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(folder, "go.sum"), sums, 0o644); err != nil {
		return "", err
	}
	modfile := filepath.Join(folder, "go.mod")
	return modfile, os.WriteFile(modfile, fmt.Appendf(required, "\nreplace %s => %s\n", core, changed), 0o644)
}

// Definitions are the files of the custom resource definitions of a version of Karpenter.
func Definitions(ctx context.Context, root, version string) ([]string, error) {
	source, err := nestedModule(root, version)
	if err != nil {
		return nil, err
	}
	directory, err := moduleFolder(ctx, source, module)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(directory, "pkg", "apis", "crds", "*.yaml"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no custom resource definitions", directory)
	}
	return files, err
}

// moduleFolder is where the go command keeps a module that the one at source requires.
func moduleFolder(ctx context.Context, source, path string) (string, error) {
	if said, err := goCommand(ctx, source, "mod", "download", path).CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetching %s: %w\n%s", path, err, said)
	}
	listed, err := goCommand(ctx, source, "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", path).Output()
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", path, err)
	}
	return strings.TrimSpace(string(listed)), nil
}

// goCommand runs the go command in the nested module, for this machine.
func goCommand(ctx context.Context, source string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = source
	command.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH,
		"GOTOOLCHAIN=auto") // Karpenter asks for a newer Go than Whittle. The go command fetches it.
	// Interrupted, the go command ends its compilers and cleans up; killed, it does neither.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 5 * time.Second
	return command
}

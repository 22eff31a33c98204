package kubernetes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// buildRecipe is part of the cached binary's name: raise it when the way of building changes.
const buildRecipe = "1"

// OtherVersion names the environment variable that asks for another Kubernetes version, such as 1.35.
// The module has a file go-1.35.mod for each version beside the one of go.mod.
const OtherVersion = "WHITTLE_KUBERNETES"

// Build compiles the control plane of the repository at root and returns the path of its binary. The
// version is that of OtherVersion, or else of go.mod.
// The binary stays below os.UserCacheDir()/whittle, so the next call returns at once if nothing has
// changed. The first build takes about five minutes on two idle cores; progress gets a line every
// ten seconds. Two processes that build at the same time build once. Build needs the go command,
// and the network unless the modules are in the cache. An error includes the compiler's output.
func Build(ctx context.Context, root string, progress io.Writer) (string, error) {
	source, err := filepath.Abs(filepath.Join(root, "testdata", "controlplane"))
	if err != nil {
		return "", fmt.Errorf("building the control plane: %w", err)
	}
	caches, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("building the control plane: finding the cache directory (set HOME): %w", err)
	}
	modfile, err := moduleFile(source, os.Getenv(OtherVersion))
	if err != nil {
		return "", fmt.Errorf("building the control plane: %w", err)
	}
	binary, err := build(ctx, source, modfile, filepath.Join(caches, "whittle"), progress)
	if err != nil {
		return "", fmt.Errorf("building the control plane in %q: %w", source, err)
	}
	return binary, nil
}

// moduleFile is the name of the file in source that requires the version, such as 1.35. The version
// is empty for that of go.mod.
func moduleFile(source, version string) (string, error) {
	if version == "" {
		return "go.mod", nil
	}
	name := "go-" + version + ".mod"
	if isFile(filepath.Join(source, name)) {
		return name, nil
	}
	found, err := filepath.Glob(filepath.Join(source, "go-*.mod"))
	if err != nil {
		return "", err
	}
	versions := make([]string, len(found))
	for i, path := range found {
		versions[i] = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "go-"), ".mod")
	}
	return "", fmt.Errorf("%s=%q: there is no such version, only %s; leave it empty for that of go.mod",
		OtherVersion, version, strings.Join(versions, ", "))
}

// build stores the binary of source below the directory cache. modfile is the file in source that
// stands for go.mod.
func build(ctx context.Context, source, modfile, cache string, progress io.Writer) (string, error) {
	digest, err := sourceDigest(ctx, source, modfile)
	if err != nil {
		return "", err
	}
	directory := filepath.Join(cache, "controlplane-"+digest)
	binary := filepath.Join(directory, "controlplane")
	if isFile(binary) {
		return binary, nil
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", err
	}

	started := time.Now()
	report := startReport(progress, "waiting for another process that builds it")
	defer report.close()
	held, err := lock(ctx, filepath.Join(cache, "controlplane.lock"))
	if err != nil {
		return "", err
	}
	defer func() { _ = held.Close() }()
	if isFile(binary) {
		return binary, nil
	}

	version, err := kubernetesVersion(ctx, source, modfile)
	if err != nil {
		return "", err
	}
	report.say(fmt.Sprintf("building the Kubernetes %s control plane (etcd, kube-apiserver, kube-scheduler, "+
		"kube-controller-manager) from its Go modules: once, about 5 minutes on two cores", version))
	temporary, err := os.MkdirTemp(directory, "building-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	output := filepath.Join(temporary, "controlplane")
	if err := compile(ctx, source, modfile, version, output, report); err != nil {
		return "", err
	}
	information, err := os.Stat(output)
	if err != nil {
		return "", err
	}
	if err := os.Rename(output, binary); err != nil {
		return "", err
	}
	report.say(fmt.Sprintf("built %s (%d MB) in %s", binary, information.Size()/1e6,
		time.Since(started).Round(time.Second)))
	return binary, nil
}

// sourceDigest identifies a build by the module's files, the Go version and the platform.
func sourceDigest(ctx context.Context, source, modfile string) (string, error) {
	toolchain, err := goCommand(ctx, source, "env", "GOVERSION").Output()
	if err != nil {
		return "", fmt.Errorf("asking for the Go version: %w", withStandardError(err))
	}
	files, err := filepath.Glob(filepath.Join(source, "*.go"))
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, _ = fmt.Fprintln(hash, buildRecipe, strings.TrimSpace(string(toolchain)), runtime.GOOS, runtime.GOARCH)
	sums := strings.TrimSuffix(modfile, ".mod") + ".sum"
	for _, file := range append(files, filepath.Join(source, modfile), filepath.Join(source, sums)) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintln(hash, filepath.Base(file), len(content))
		hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

// kubernetesVersion reads the version of k8s.io/kubernetes that the module requires, such as
// "v1.36.3".
func kubernetesVersion(ctx context.Context, source, modfile string) (string, error) {
	output, err := goCommand(ctx, source, "mod", "edit", "-json", modfile).Output()
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", modfile, withStandardError(err))
	}
	var module struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(output, &module); err != nil {
		return "", fmt.Errorf("reading %s: %w", modfile, err)
	}
	for _, requirement := range module.Require {
		if requirement.Path == "k8s.io/kubernetes" {
			return requirement.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require k8s.io/kubernetes: add it", modfile)
}

// goCommand runs the go command in the nested module, for this machine, whatever the caller
// cross-compiles for.
func goCommand(ctx context.Context, source string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = source
	command.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	// Interrupted, the go command ends its compilers and cleans up; killed, it does neither.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 5 * time.Second
	return command
}

// withStandardError adds a failed command's standard error.
func withStandardError(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}

func isFile(path string) bool {
	information, err := os.Stat(path)
	return err == nil && information.Mode().IsRegular()
}

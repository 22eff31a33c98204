package conformance

import (
	"context"
	"crypto/sha256"
	_ "embed" // of the requirements
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

//go:embed requirements.txt
var requirements []byte

// Environment is a Python virtual environment with moto and botocore.
type Environment struct {
	// Python is its interpreter.
	Python string
	folder string
}

// Prepare installs the environment in the user's cache folder, unless one with the same versions
// exists. It prints its progress to out.
func Prepare(ctx context.Context, out io.Writer) (*Environment, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil, fmt.Errorf("conformance needs Python 3.10 or later with venv: %w", err)
	}
	version, err := exec.CommandContext(ctx, python, "-c",
		"import sys, platform; print('%d.%d-%s' % (*sys.version_info[:2], platform.machine()))").Output()
	if err != nil {
		return nil, fmt.Errorf("asking %s for its version: %w", python, err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append(requirements, version...))
	folder := filepath.Join(cache, "whittle", "conformance-"+hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return nil, err
	}
	unlock, err := lock(folder + ".lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	e := &Environment{Python: filepath.Join(folder, "bin", "python"), folder: folder}
	complete := filepath.Join(folder, "complete")
	if _, err := os.Stat(complete); err == nil {
		return e, nil
	}
	_, _ = fmt.Fprintf(out, "installing moto and botocore into %s\n", folder)
	if err := os.RemoveAll(folder); err != nil {
		return nil, err
	}
	list := folder + ".txt"
	if err := os.WriteFile(list, requirements, 0o644); err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(list) }()
	for _, command := range [][]string{
		{python, "-m", "venv", folder},
		{
			e.Python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:",
			"--require-hashes", "-r", list,
		},
	} {
		if text, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, text)
		}
	}
	return e, os.WriteFile(complete, nil, 0o644)
}

// lock keeps other processes from preparing the same environment.
func lock(file string) (unlock func(), err error) {
	held, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return func() { _ = held.Close() }, nil
}

// Models returns the folder of botocore's service models.
func (e *Environment) Models() (string, error) {
	found, err := filepath.Glob(filepath.Join(e.folder, "lib", "python3*", "site-packages", "botocore", "data"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("botocore's models are not at one place below %s: %q, %w", e.folder, found, err)
	}
	return found[0], nil
}

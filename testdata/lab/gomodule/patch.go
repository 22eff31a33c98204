package gomodule

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Patch changes one file of a required module where the program has no setting.
type Patch struct {
	// Module is the module's path, and File the file's in it, with slashes.
	Module, File string
	// New replaces each Old, of which there has to be one.
	Old, New string
}

// apply copies the module into the folder, with the change, and writes a go.mod beside it that
// requires the copy. It returns the path of that go.mod.
func (c *Patch) apply(ctx context.Context, source, folder string) (string, error) {
	directory, err := Folder(ctx, source, c.Module)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(folder, "changed")
	if err := os.CopyFS(changed, os.DirFS(directory)); err != nil {
		return "", err
	}
	file := filepath.Join(changed, filepath.FromSlash(c.File))
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if !strings.Contains(string(content), c.Old) {
		return "", fmt.Errorf("%s of %s has no %q: bring the patch up to date with that version", c.File, directory, c.Old)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(content), c.Old, c.New)), 0o644); err != nil {
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
	return modfile, os.WriteFile(modfile, fmt.Appendf(required, "\nreplace %s => %s\n", c.Module, changed), 0o644)
}

package karpenter

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/gomodule"
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

// Build compiles the controller of a version of Karpenter and returns the path of its binary, as
// gomodule does.
func Build(ctx context.Context, root, version string, progress io.Writer) (string, error) {
	source, err := nestedModule(root, version)
	if err != nil {
		return "", err
	}
	program := gomodule.Program{
		Name: "karpenter", Source: source, Package: module + "/cmd/controller", Recipe: buildRecipe,
		// The controller serves its metrics and probes on the loopback address only.
		Patch: gomodule.Patch{
			Module: core, File: "pkg/operator/operator.go", Old: `BindAddress: fmt.Sprintf(":%d",`,
			New: `BindAddress: fmt.Sprintf("127.0.0.1:%d",`,
		},
	}
	return program.Build(ctx, progress)
}

// Definitions are the files of the custom resource definitions of a version of Karpenter.
func Definitions(ctx context.Context, root, version string) ([]string, error) {
	source, err := nestedModule(root, version)
	if err != nil {
		return nil, err
	}
	directory, err := gomodule.Folder(ctx, source, module)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(directory, "pkg", "apis", "crds", "*.yaml"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no custom resource definitions", directory)
	}
	return files, err
}

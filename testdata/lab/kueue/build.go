package kueue

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/whittle-dev/whittle/testdata/lab/gomodule"
)

const (
	buildRecipe = "1"
	requests    = "k8s.io/autoscaler/cluster-autoscaler/apis"
)

// Folder holds the nested module and the queues of the local world, in the repository at root.
func Folder(root string) string { return filepath.Join(root, "testdata", "kueue") }

// Build compiles the controller and returns the path of its binary, as gomodule does.
func (c *Controller) Build(ctx context.Context, root string, progress io.Writer) (string, error) {
	program := gomodule.Program{
		Name: c.name, Source: Folder(root), Package: c.program, Recipe: buildRecipe, Patch: c.patch,
	}
	return program.Build(ctx, progress)
}

// Definitions are the files of the controllers' custom resource definitions, and of Cluster
// Autoscaler's for ProvisioningRequests. They have to be served before Kueue starts: it looks for
// those of others once.
func Definitions(ctx context.Context, root string) ([]string, error) {
	patterns := map[string]string{requests: "config/crd/*.yaml"}
	for _, controller := range []*Controller{Kueue(), JobSet()} {
		patterns[controller.module] = "config/components/crd/bases/*.yaml"
	}
	var files []string
	for path, pattern := range patterns {
		directory, err := gomodule.Folder(ctx, Folder(root), path)
		if err != nil {
			return nil, err
		}
		found, err := filepath.Glob(filepath.Join(directory, filepath.FromSlash(pattern)))
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%s has no custom resource definitions", directory)
		}
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

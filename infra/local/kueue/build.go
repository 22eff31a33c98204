package kueue

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/whittle-dev/whittle/infra/local/gomodule"
)

const (
	buildRecipe = "1"
	module      = "sigs.k8s.io/kueue"
	requests    = "k8s.io/autoscaler/cluster-autoscaler/apis"
)

// Folder holds the nested module and the queues of the local world, in the repository at root.
func Folder(root string) string { return filepath.Join(root, "testdata", "kueue") }

// Build compiles the controller and returns the path of its binary, as gomodule does.
func Build(ctx context.Context, root string, progress io.Writer) (string, error) {
	program := gomodule.Program{
		Name: "kueue", Source: Folder(root), Package: module + "/cmd/kueue", Recipe: buildRecipe,
		// The metrics have the certificate of the webhooks. Otherwise the controller exits without
		// certificates below /etc.
		Patch: gomodule.Patch{
			Module: module, File: "cmd/kueue/main.go", Old: `metricsCertPath := "/etc/kueue/metrics/certs"`,
			New: "metricsCertPath := cfg.Webhook.CertDir",
		},
	}
	return program.Build(ctx, progress)
}

// Definitions are the files of Kueue's custom resource definitions, and of Cluster Autoscaler's for
// ProvisioningRequests. They have to be served before Kueue starts: it looks for the latter once.
func Definitions(ctx context.Context, root string) ([]string, error) {
	var files []string
	for path, pattern := range map[string]string{
		module: "config/components/crd/bases/*.yaml", requests: "config/crd/*.yaml",
	} {
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

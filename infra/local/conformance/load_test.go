//go:build conformance

package conformance

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// models is the folder of botocore's service models.
func (e *Environment) models() (string, error) {
	found, err := filepath.Glob(filepath.Join(e.folder, "lib", "python3*", "site-packages", "botocore", "data"))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("botocore's models are not at one place below %s: %q, %w", e.folder, found, err)
	}
	return found[0], nil
}

// loadModel reads the newest model of a service.
func loadModel(folder, service string) (*model, error) {
	versions, err := filepath.Glob(filepath.Join(folder, service, "*", "service-2.json*"))
	if err != nil || len(versions) == 0 {
		return nil, fmt.Errorf("botocore has no model of %s below %s: %w", service, folder, err)
	}
	slices.Sort(versions)
	file, err := os.Open(versions[len(versions)-1])
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	m := &model{}
	if filepath.Ext(file.Name()) != ".gz" {
		return m, json.NewDecoder(file).Decode(m)
	}
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file.Name(), err)
	}
	if err := json.NewDecoder(unpacked).Decode(m); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file.Name(), err)
	}
	return m, nil
}

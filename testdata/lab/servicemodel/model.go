package servicemodel

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Model is a service as botocore's service-2.json describes it.
type Model struct {
	Metadata struct {
		Protocol string `json:"protocol"`
	} `json:"metadata"`
	Operations map[string]struct {
		Output *Ref `json:"output"`
	} `json:"operations"`
	Shapes map[string]*Shape `json:"shapes"`
}

// Ref is the use of a shape. Its element may have another name than the member.
type Ref struct {
	Shape         string `json:"shape"`
	LocationName  string `json:"locationName"`
	QueryName     string `json:"queryName"`
	Flattened     bool   `json:"flattened"`
	ResultWrapper string `json:"resultWrapper"`
}

// Shape is a type.
type Shape struct {
	Type      string          `json:"type"`
	Members   map[string]*Ref `json:"members"`
	Required  []string        `json:"required"`
	Member    *Ref            `json:"member"`
	Key       *Ref            `json:"key"`
	Value     *Ref            `json:"value"`
	Enum      []string        `json:"enum"`
	Flattened bool            `json:"flattened"`
}

// Output returns the shape of an action's answer; nil for an action without one.
func (m *Model) Output(action string) (*Ref, error) {
	operation, known := m.Operations[action]
	if !known {
		return nil, fmt.Errorf("the model has no action %s", action)
	}
	return operation.Output, nil
}

// Load reads the newest model of a service below the folder of botocore's models.
func Load(folder, service string) (*Model, error) {
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
	m := &Model{}
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

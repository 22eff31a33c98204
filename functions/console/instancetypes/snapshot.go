package instancetypes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/console/document"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// snapshotFile is the snapshot form.
type snapshotFile struct {
	InstanceTypes []snapshotType `json:"instanceTypes"`
	// NodePools gives pools their own lists: names of types, or whole types.
	NodePools       map[string][]json.RawMessage `json:"nodePools"`
	WellKnownLabels []string                     `json:"wellKnownLabels"`
}

type snapshotType struct {
	Name string `json:"name"`
	// Requirements are the labels of the type's nodes.
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
	Capacity     corev1.ResourceList              `json:"capacity"`
	// Overhead is the part of the capacity that pods cannot use.
	Overhead struct {
		KubeReserved      corev1.ResourceList `json:"kubeReserved"`
		SystemReserved    corev1.ResourceList `json:"systemReserved"`
		EvictionThreshold corev1.ResourceList `json:"evictionThreshold"`
	} `json:"overhead"`
	Offerings []snapshotOffering `json:"offerings"`
}

type snapshotOffering struct {
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
	Price        float64                          `json:"price"`
	// Available defaults to true.
	Available           *bool `json:"available"`
	ReservationCapacity int   `json:"reservationCapacity"`
}

func parseSnapshot(d *document.Document) (*Table, error) {
	var read snapshotFile
	if err := d.DecodeFold(&read, "instance types"); err != nil {
		return nil, err
	}
	table := &Table{WellKnownLabels: read.WellKnownLabels, types: []catalog.InstanceType{}}
	for i := range read.InstanceTypes {
		t, err := read.InstanceTypes[i].read(d, document.Path{"instanceTypes", i})
		if err != nil {
			return nil, err
		}
		table.types = append(table.types, t)
	}
	for _, pool := range sortedKeys(read.NodePools) {
		types, err := table.ofPool(d, pool, read.NodePools[pool])
		if err != nil {
			return nil, err
		}
		if table.pools == nil {
			table.pools = map[string][]catalog.InstanceType{}
		}
		table.pools[pool] = types
	}
	return table, nil
}

// ofPool reads a NodePool's own list. A name stands for all types of that name.
func (t *Table) ofPool(d *document.Document, pool string, entries []json.RawMessage) ([]catalog.InstanceType, error) {
	types := []catalog.InstanceType{}
	for i, raw := range entries {
		path := document.Path{"nodePools", pool, i}
		if text := strings.TrimSpace(string(raw)); !strings.HasPrefix(text, `"`) {
			var whole snapshotType
			if err := d.Entry(raw, path...).DecodeFold(&whole, fmt.Sprintf("instance types: %s", path)); err != nil {
				return nil, err
			}
			read, err := whole.read(d, path)
			if err != nil {
				return nil, err
			}
			types = append(types, read)
			continue
		}
		var name string
		if err := json.Unmarshal(raw, &name); err != nil {
			return nil, d.Errorf(path, "instance types: %s: %w", path, err)
		}
		found := false
		for j := range t.types {
			if t.types[j].Name == name {
				types, found = append(types, t.types[j]), true
			}
		}
		if !found {
			return nil, d.Errorf(
				path, "instance types: %s: instanceTypes has no %q: want the name of one of its types, or a whole type", path, name,
			)
		}
	}
	return types, nil
}

// read converts the type to the planner's form.
func (s *snapshotType) read(d *document.Document, path document.Path) (catalog.InstanceType, error) {
	if s.Name == "" {
		return catalog.InstanceType{}, d.Errorf(path, "instance types: %s: is missing", path.With("name"))
	}
	requirements, err := readRequirements(d, path.With("requirements"), s.Requirements)
	if err != nil {
		return catalog.InstanceType{}, err
	}
	// The name is a label, even if the requirements lack it.
	if _, ok := requirements[corev1.LabelInstanceTypeStable]; !ok {
		requirements.Add(scheduling.In(corev1.LabelInstanceTypeStable, s.Name))
	}
	capacity := s.Capacity
	if capacity == nil {
		capacity = corev1.ResourceList{}
	}
	t := catalog.InstanceType{
		Name: s.Name, Requirements: requirements, Capacity: capacity,
		Allocatable: allocatable(capacity, s.Overhead.KubeReserved, s.Overhead.SystemReserved, s.Overhead.EvictionThreshold),
	}
	for i := range s.Offerings {
		o := &s.Offerings[i]
		path := path.With("offerings", i)
		labels, err := readRequirements(d, path.With("requirements"), o.Requirements)
		if err != nil {
			return catalog.InstanceType{}, err
		}
		if o.Price < 0 {
			return catalog.InstanceType{}, d.Errorf(
				path.With("price"), "instance types: %s: %v is negative: want zero or more", path.With("price"), o.Price,
			)
		}
		read := offering{
			requirements: labels, price: o.Price, available: o.Available == nil || *o.Available,
			reservationCapacity: o.ReservationCapacity,
		}
		t.Offerings = append(t.Offerings, read.offerings(requirements)...)
	}
	finish(&t)
	return t, nil
}

// readRequirements returns the intersection of the terms. A repeated key means both.
func readRequirements(d *document.Document, path document.Path, terms []corev1.NodeSelectorRequirement) (
	scheduling.Requirements, error,
) {
	requirements := scheduling.Requirements{}
	for i, term := range terms {
		if term.Key == "" {
			return nil, d.Errorf(path.With(i), "instance types: %s: is missing", path.With(i, "key"))
		}
		requirement, err := scheduling.ParseRequirement(term.Key, term.Operator, term.Values...)
		if err != nil {
			return nil, d.Errorf(path.With(i, "operator"), "instance types: %s: %w", path.With(i), err)
		}
		requirements.Add(requirement)
	}
	return requirements, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

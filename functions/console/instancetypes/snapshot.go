package instancetypes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/console/document"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// snapshotFile is the snapshot form.
type snapshotFile struct {
	InstanceTypes []snapshotType `json:"instanceTypes"`
	// NodePools gives pools their own lists: names of types, or whole types.
	NodePools       map[string][]json.RawMessage `json:"nodePools"`
	WellKnownLabels []string                     `json:"wellKnownLabels"`
	// ReservationIDLabel is the key under which the file names reservations, where it is another than
	// AWS's.
	ReservationIDLabel string `json:"reservationIDLabel"`
	// MaxInstanceTypes is the greatest number of types of a claim; zero for Whittle's own.
	MaxInstanceTypes int `json:"maxInstanceTypes"`
}

type snapshotType struct {
	Name string `json:"name"`
	// Requirements are the labels of the type's nodes.
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
	Capacity     corev1.ResourceList              `json:"capacity"`
	Overhead     overhead                         `json:"overhead"`
	Offerings    []snapshotOffering               `json:"offerings"`
}

// overhead is the part of the capacity that pods cannot use.
type overhead struct {
	KubeReserved      corev1.ResourceList `json:"kubeReserved"`
	SystemReserved    corev1.ResourceList `json:"systemReserved"`
	EvictionThreshold corev1.ResourceList `json:"evictionThreshold"`
}

// total is the sum of the parts.
func (o *overhead) total() corev1.ResourceList {
	sum := corev1.ResourceList{}
	for _, part := range []corev1.ResourceList{o.KubeReserved, o.SystemReserved, o.EvictionThreshold} {
		for name, amount := range part {
			have := sum[name]
			have.Add(amount)
			sum[name] = have
		}
	}
	return sum
}

type snapshotOffering struct {
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
	Price        float64                          `json:"price"`
	// Available defaults to true.
	Available           *bool `json:"available"`
	ReservationCapacity int   `json:"reservationCapacity"`
	// CapacityOverride and OverheadOverride replace quantities of the type for this offering.
	CapacityOverride corev1.ResourceList `json:"capacityOverride"`
	OverheadOverride *overhead           `json:"overheadOverride"`
}

func parseSnapshot(d *document.Document) (*Table, error) {
	var read snapshotFile
	if err := d.DecodeFold(&read, "instance types"); err != nil {
		return nil, err
	}
	if read.MaxInstanceTypes < 0 {
		path := document.Path{"maxInstanceTypes"}
		return nil, d.Errorf(path, "instance types: %s: %d is negative: want 1 or more", path, read.MaxInstanceTypes)
	}
	table := &Table{
		WellKnownLabels: read.WellKnownLabels, MaximumTypes: read.MaxInstanceTypes, types: []catalog.InstanceType{},
		reservations: read.ReservationIDLabel,
	}
	for i := range read.InstanceTypes {
		types, err := read.InstanceTypes[i].read(d, document.Path{"instanceTypes", i}, table.reservations)
		if err != nil {
			return nil, err
		}
		table.types = append(table.types, types...)
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
			read, err := whole.read(d, path, t.reservations)
			if err != nil {
				return nil, err
			}
			types = append(types, read...)
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

// read converts the type to the planner's form. Offerings with other quantities than the type's make
// a type of the same name. reservations is the file's key for reservations, or empty.
func (s *snapshotType) read(
	d *document.Document, path document.Path, reservations string,
) ([]catalog.InstanceType, error) {
	if s.Name == "" {
		return nil, d.Errorf(path, "instance types: %s: is missing", path.With("name"))
	}
	requirements, err := readRequirements(d, path.With("requirements"), s.Requirements)
	if err != nil {
		return nil, err
	}
	// The name is a label, even if the requirements lack it.
	if _, ok := requirements[corev1.LabelInstanceTypeStable]; !ok {
		requirements.Add(scheduling.In(corev1.LabelInstanceTypeStable, s.Name))
	}
	var types []catalog.InstanceType
	byQuantities := map[string]int{}
	for i := range s.Offerings {
		o := &s.Offerings[i]
		path := path.With("offerings", i)
		labels, err := readRequirements(d, path.With("requirements"), o.Requirements)
		if err != nil {
			return nil, err
		}
		if own, ok := labels[reservations]; ok && reservations != "" {
			delete(labels, reservations)
			if id, single := own.Single(); single {
				labels.Add(scheduling.In(api.LabelCapacityReservationID, id))
			}
		}
		if o.Price < 0 {
			return nil, d.Errorf(
				path.With("price"), "instance types: %s: %v is negative: want zero or more", path.With("price"), o.Price,
			)
		}
		read := offering{
			requirements: labels, price: o.Price, available: o.Available == nil || *o.Available,
			reservationCapacity: o.ReservationCapacity,
		}
		capacity, available := s.quantities(o)
		key := fmt.Sprint(capacity, available)
		at, known := byQuantities[key]
		if !known {
			at = len(types)
			byQuantities[key] = at
			types = append(types, catalog.InstanceType{
				Name: s.Name, Requirements: requirements.Clone(), Capacity: capacity, Allocatable: available,
			})
		}
		types[at].Offerings = append(types[at].Offerings, read.offerings(requirements)...)
	}
	if len(types) == 0 {
		capacity, available := s.quantities(&snapshotOffering{})
		types = append(types, catalog.InstanceType{
			Name: s.Name, Requirements: requirements, Capacity: capacity, Allocatable: available,
		})
	}
	for i := range types {
		finish(&types[i])
	}
	return types, nil
}

// quantities are the capacity of the type's nodes of an offering, and what pods can use of it.
func (s *snapshotType) quantities(o *snapshotOffering) (capacity, available corev1.ResourceList) {
	capacity = corev1.ResourceList{}
	maps.Copy(capacity, s.Capacity)
	maps.Copy(capacity, o.CapacityOverride)
	over := s.Overhead.total()
	if o.OverheadOverride != nil {
		maps.Copy(over, o.OverheadOverride.total())
	}
	return capacity, allocatable(capacity, over)
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

package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/guard"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// OverlayProblem is the reason why a NodeOverlay does not apply.
type OverlayProblem struct {
	// Overlay is the overlay's name.
	Overlay string
	// Reason is api.ReasonOverlayConflict or api.ReasonOverlayRuntimeValidation.
	Reason string
	// Message gives the problem and its remedy.
	Message string
}

// ApplyOverlays is Overlays for one NodePool. Overlays that conflict only in another pool still
// apply.
func ApplyOverlays(
	types []InstanceType, pool *api.NodePool, overlays []api.NodeOverlay,
) ([]InstanceType, []OverlayProblem) {
	byPool, problems := Overlays([]api.NodePool{*pool}, func(*api.NodePool) []InstanceType { return types }, overlays)
	return byPool[pool.Name], problems
}

// Overlays returns the instance types of each NodePool, by its name, with the NodeOverlays applied,
// and the overlays that do not apply.
//
// An overlay applies to an instance type, and to those of its offerings whose labels, together with
// the labels of the pool's template, meet spec.requirements. Each offering has the price of the
// overlay with the highest weight that sets it, and each extended resource its amount. Two overlays
// of the same weight that set the same price or resource conflict. Then the last one by name
// applies, and the other is ignored everywhere. The order of the input does not matter. Overlays
// does not change the given types, and returns them where nothing applies.
//
// https://karpenter.sh/docs/concepts/nodeoverlays/
func Overlays(
	pools []api.NodePool, types func(*api.NodePool) []InstanceType, overlays []api.NodeOverlay,
) (map[string][]InstanceType, []OverlayProblem) {
	targets := make([]*overlaid, 0, len(pools))
	for i := range pools {
		labels := scheduling.FromLabels(pools[i].Spec.Template.Labels)
		labels.Add(scheduling.In(api.NodePoolLabelKey, pools[i].Name))
		targets = append(
			targets,
			&overlaid{pool: pools[i].Name, labels: labels, types: types(&pools[i]), changes: map[int]*typeChange{}},
		)
	}
	// The order of pools decides which conflict is reported.
	slices.SortStableFunc(targets, func(a, b *overlaid) int { return strings.Compare(a.pool, b.pool) })
	var problems []OverlayProblem
	for _, o := range heaviestFirst(overlays) {
		var read *overlay
		err := guard.Run(func() (err error) {
			read, err = readOverlay(o)
			return err
		})
		if err != nil {
			problems = append(problems, OverlayProblem{o.Name, api.ReasonOverlayRuntimeValidation, err.Error()})
			continue
		}
		var matches []overlayMatch
		var conflict string
		for _, target := range targets {
			for i := range target.types {
				match := target.match(read, i)
				if conflict == "" {
					conflict = match.conflict(read)
				}
				if len(match.offerings) > 0 {
					matches = append(matches, match)
				}
			}
		}
		if conflict != "" {
			problems = append(problems, OverlayProblem{o.Name, api.ReasonOverlayConflict, conflict})
			continue
		}
		for _, match := range matches {
			match.note(read)
		}
	}
	byPool := make(map[string][]InstanceType, len(targets))
	for _, target := range targets {
		byPool[target.pool] = target.result()
	}
	return byPool, problems
}

// heaviestFirst returns the overlays by descending weight, and by descending name within a weight.
func heaviestFirst(overlays []api.NodeOverlay) []*api.NodeOverlay {
	order := make([]*api.NodeOverlay, len(overlays))
	for i := range overlays {
		order[i] = &overlays[i]
	}
	slices.SortStableFunc(order, func(a, b *api.NodeOverlay) int {
		return cmp.Or(-cmp.Compare(a.WeightOrZero(), b.WeightOrZero()), -strings.Compare(a.Name, b.Name))
	})
	return order
}

// overlay is a parsed NodeOverlay.
type overlay struct {
	name         string
	weight       int32
	requirements scheduling.Requirements
	// price returns the new price for an offering's price; nil where the overlay sets none.
	price func(float64) float64
	// supplies is true for an overlay that also sets the price of types without a price from EC2.
	supplies bool
	capacity corev1.ResourceList
}

func readOverlay(o *api.NodeOverlay) (*overlay, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	requirements, err := scheduling.FromNodeSelectorTerm(corev1.NodeSelectorTerm{MatchExpressions: o.Spec.Requirements})
	if err != nil {
		return nil, fmt.Errorf("nodeoverlay %q: spec.requirements: %w", o.Name, err)
	}
	read := &overlay{name: o.Name, weight: o.WeightOrZero(), requirements: requirements, capacity: o.Spec.Capacity}
	switch {
	case o.Spec.Price != nil:
		price, err := api.ParseOverlayPrice(*o.Spec.Price)
		if err != nil {
			return nil, fmt.Errorf("nodeoverlay %q: spec.price: %q %w", o.Name, *o.Spec.Price, err)
		}
		read.price = func(float64) float64 { return price }
		only := o.Spec.Requirements
		read.supplies = len(only) == 1 && scheduling.NormalizeKey(only[0].Key) == corev1.LabelInstanceTypeStable &&
			only[0].Operator == corev1.NodeSelectorOpIn
	case o.Spec.PriceAdjustment != nil:
		adjustment, err := api.ParsePriceAdjustment(*o.Spec.PriceAdjustment)
		if err != nil {
			return nil, fmt.Errorf("nodeoverlay %q: spec.priceAdjustment: %q %w", o.Name, *o.Spec.PriceAdjustment, err)
		}
		read.price = adjustment.Apply
	}
	return read, nil
}

// overlaid holds a pool's types with their changes.
type overlaid struct {
	pool    string
	labels  scheduling.Requirements
	types   []InstanceType
	changes map[int]*typeChange // by index in types
}

// typeChange holds the changes of one instance type.
type typeChange struct {
	prices   map[int]*priceChange // by index in its offerings
	capacity map[corev1.ResourceName]*capacityChange
}

// priceChange holds the heaviest overlay of an offering (by), and the lightest so far (last).
type priceChange struct{ by, last *overlay }

// capacityChange holds the heaviest overlay of a resource (by), and the lightest so far (last).
type capacityChange struct{ by, last *overlay }

// overlayMatch holds the offerings of one type that an overlay applies to.
type overlayMatch struct {
	target    *overlaid
	index     int
	offerings []int
}

func (t *overlaid) match(o *overlay, index int) overlayMatch {
	match := overlayMatch{target: t, index: index}
	typ := &t.types[index]
	for key, want := range o.requirements {
		have, known := typ.Requirements[key]
		if label, labelled := t.labels[key]; labelled {
			if known {
				label = label.Intersection(have)
			}
			have, known = label, true
		}
		if known && !have.Intersects(want) || !known && !want.AllowsAbsent() {
			return match
		}
	}
	for i := range typ.Offerings {
		if typ.Offerings[i].AllowedBy(o.requirements) {
			match.offerings = append(match.offerings, i)
		}
	}
	return match
}

// conflict returns the overlay of the same weight that changes the same thing, or an empty text.
func (m overlayMatch) conflict(o *overlay) string {
	change := m.target.changes[m.index]
	if change == nil || len(m.offerings) == 0 {
		return ""
	}
	typ := &m.target.types[m.index]
	if o.price != nil {
		for _, i := range m.offerings {
			if price := change.prices[i]; price != nil && price.last.weight == o.weight {
				offering := &typ.Offerings[i]
				return fmt.Sprintf("nodeoverlay %q: spec.weight: %d is also that of nodeoverlay %q, and both set the price of "+
					"%s %s in %s for nodepool %q: give one of them another weight or narrow spec.requirements",
					o.name, o.weight, price.last.name, offering.CapacityType, typ.Name, offering.Zone, m.target.pool)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.capacity)) {
		if capacity := change.capacity[name]; capacity != nil && capacity.last.weight == o.weight {
			return fmt.Sprintf("nodeoverlay %q: spec.weight: %d is also that of nodeoverlay %q, and both set %s of %s for "+
				"nodepool %q: give one of them another weight or narrow spec.requirements",
				o.name, o.weight, capacity.last.name, name, typ.Name, m.target.pool)
		}
	}
	return ""
}

// note records the overlay for everything that no heavier overlay changes.
func (m overlayMatch) note(o *overlay) {
	change := m.target.changes[m.index]
	if change == nil {
		change = &typeChange{prices: map[int]*priceChange{}, capacity: map[corev1.ResourceName]*capacityChange{}}
		m.target.changes[m.index] = change
	}
	if o.price != nil {
		for _, i := range m.offerings {
			if price := change.prices[i]; price != nil {
				price.last = o
			} else {
				change.prices[i] = &priceChange{by: o, last: o}
			}
		}
	}
	for name := range o.capacity {
		if capacity := change.capacity[name]; capacity != nil {
			capacity.last = o
		} else {
			change.capacity[name] = &capacityChange{by: o, last: o}
		}
	}
}

// result returns the types, with the changes made to copies.
func (t *overlaid) result() []InstanceType {
	if len(t.changes) == 0 {
		return t.types
	}
	types := slices.Clone(t.types)
	for index, change := range t.changes {
		typ := &types[index]
		if len(change.prices) > 0 {
			typ.Offerings = slices.Clone(typ.Offerings)
			for i, price := range change.prices {
				typ.Offerings[i].overlay(price.by)
			}
			sortOfferings(typ.Offerings)
		}
		if len(change.capacity) > 0 {
			typ.overlayCapacity(change.capacity)
		}
	}
	return types
}

// overlay sets the offering's price to the overlay's.
func (o *Offering) overlay(by *overlay) {
	o.Price, o.PriceOverlay = by.price(o.Price), true
	if o.Unpriced && by.supplies {
		o.Unpriced, o.Available = false, true
	}
}

// overlayCapacity adds extended resources. None of them is reserved. Huge pages reduce the memory
// that is left for pods. Parts of GPUs reduce the whole ones, unless an overlay gives their number.
func (t *InstanceType) overlayCapacity(changes map[corev1.ResourceName]*capacityChange) {
	t.CapacityOverlay = true
	t.Capacity, t.Allocatable = copyList(t.Capacity), copyList(t.Allocatable)
	for name, change := range changes {
		amount := change.by.capacity[name]
		if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			memory := t.Allocatable[corev1.ResourceMemory].DeepCopy()
			memory.Add(t.Capacity[name])
			memory.Sub(amount)
			if memory.Sign() < 0 {
				memory.Set(0)
			}
			t.Allocatable[corev1.ResourceMemory] = memory
		}
		t.Capacity[name], t.Allocatable[name] = amount, amount
	}
	if changes[api.ResourceNVIDIAGPU] == nil {
		t.dividedGPUs(changes)
	}
}

func copyList(list corev1.ResourceList) corev1.ResourceList {
	copied := make(corev1.ResourceList, len(list)+1)
	maps.Copy(copied, list)
	return copied
}

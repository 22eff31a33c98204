package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// OverlayProblem is why a NodeOverlay counts for nothing.
type OverlayProblem struct {
	// Overlay is its name.
	Overlay string
	// Reason is api.ReasonOverlayConflict or api.ReasonOverlayRuntimeValidation.
	Reason string
	// Message names what is wrong and what mends it.
	Message string
}

// ApplyOverlays is Overlays for one NodePool: overlays that conflict in another pool alone still
// count here.
func ApplyOverlays(
	types []InstanceType, pool *api.NodePool, overlays []api.NodeOverlay,
) ([]InstanceType, []OverlayProblem) {
	byPool, problems := Overlays([]api.NodePool{*pool}, func(*api.NodePool) []InstanceType { return types }, overlays)
	return byPool[pool.Name], problems
}

// Overlays gives the instance types of each NodePool, by its name, as NodeOverlays make them, and
// the overlays that count for nothing.
//
// An overlay is about an instance type and those of its offerings that have, together with the
// labels of the pool's template, what spec.requirements asks for. Heavier overlays win: each
// offering has the price of the first that sets it, and each extended resource its amount. Two of
// the same weight that set the same price or resource conflict; the one that comes first by name,
// from the end of the alphabet, stays, and the other is ignored everywhere. The order of the input
// does not matter. The types given are not changed; where nothing applies, they are what is
// returned.
//
// See https://karpenter.sh/docs/concepts/nodeoverlays/.
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
	// Which pool a conflict is found in first decides what is said of it.
	slices.SortStableFunc(targets, func(a, b *overlaid) int { return strings.Compare(a.pool, b.pool) })
	var problems []OverlayProblem
	for _, o := range heaviestFirst(overlays) {
		read, err := readOverlay(o)
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

// heaviestFirst are the overlays in the order in which they count: of the same weight, the last by
// name first.
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

// overlay is a NodeOverlay as it is applied.
type overlay struct {
	name         string
	weight       int32
	requirements scheduling.Requirements
	// price makes an offering's price of the one that it has; nil if the overlay is not about
	// prices.
	price func(float64) float64
	// supplies a price to types that EC2 gives none for: it names them, and says what they cost.
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

// overlaid are a pool's types with what is to become of them.
type overlaid struct {
	pool    string
	labels  scheduling.Requirements
	types   []InstanceType
	changes map[int]*typeChange // by index in types
}

// typeChange is what overlays make of one instance type.
type typeChange struct {
	prices   map[int]*priceChange // by index in its offerings
	capacity map[corev1.ResourceName]*capacityChange
}

// priceChange is by the heaviest overlay of those about an offering, last the lightest so far.
type priceChange struct{ by, last *overlay }

// capacityChange is by the heaviest overlay of those about a resource, last the lightest so far.
type capacityChange struct{ by, last *overlay }

// overlayMatch are the offerings of one type that an overlay is about; none if it is not about the
// type.
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

// conflict says which overlay of the same weight is about the same thing; empty if none is.
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

// note takes the overlay down for what no heavier one has settled.
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

// result are the types with the changes made to copies.
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

// overlay gives the offering the price that the overlay makes of its own.
func (o *Offering) overlay(by *overlay) {
	o.Price, o.PriceOverlay = by.price(o.Price), true
	if o.Unpriced && by.supplies {
		o.Unpriced, o.Available = false, true
	}
}

// overlayCapacity adds extended resources. Nothing of them is reserved; huge pages are taken from
// the memory that is left for pods.
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
}

func copyList(list corev1.ResourceList) corev1.ResourceList {
	copied := make(corev1.ResourceList, len(list)+1)
	maps.Copy(copied, list)
	return copied
}

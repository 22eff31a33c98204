package widget

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/nodestate"
)

// tiles returns the figures at the top: price, nodes, utilisation, pending pods, and the quality of
// the last plan.
func tiles(shown *view.View) []tile {
	return []tile{price(shown), nodesTile(shown), cpuTile(shown), memoryTile(shown), waitingTile(shown), boundTile(shown)}
}

func price(shown *view.View) tile {
	figure := tile{Name: "Price of nodes", Value: fmt.Sprintf("$%.4f", shown.PricePerHour), Unit: "/h"}
	switch saved := shown.Savings; {
	case saved.PerHour >= 0.00005:
		figure.Note, figure.Tone = fmt.Sprintf("%.0f %% ($%.4f/h) below on-demand", 100*saved.Fraction, saved.PerHour), "good"
	case shown.Instances > 0:
		figure.Note = "the on-demand price"
	default:
		figure.Note = "no instances"
	}
	if shown.ExtrasPerHour > 0 {
		figure.Note = fmt.Sprintf("instances $%.4f/h, extras $%.4f/h; %s", shown.PricePerHour-shown.ExtrasPerHour,
			shown.ExtrasPerHour, figure.Note)
	}
	if shown.Headroom != nil {
		figure.Note += "; " + shown.HeadroomText()
	}
	if shown.Unpriced > 0 {
		figure.Note += fmt.Sprintf("; %d of unknown price", shown.Unpriced)
	}
	return figure
}

func nodesTile(shown *view.View) tile {
	byCapacity, others, ready := map[string]int{}, 0, 0
	for i := range shown.Nodes {
		node := &shown.Nodes[i]
		if node.State == nodestate.Ready {
			ready++
		}
		if node.NodeClaim == "" {
			others++
		} else {
			byCapacity[node.CapacityType]++
		}
	}
	var parts []string
	for _, capacityType := range []string{api.CapacityTypeSpot, api.CapacityTypeOnDemand, api.CapacityTypeReserved} {
		if byCapacity[capacityType] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", byCapacity[capacityType], capacityType))
		}
	}
	if byCapacity[""] > 0 {
		parts = append(parts, fmt.Sprintf("%d launching", byCapacity[""]))
	}
	if others > 0 {
		parts = append(parts, fmt.Sprintf("%d unmanaged", others))
	}
	figure := tile{Name: "Nodes", Value: fmt.Sprint(len(shown.Nodes)), Note: strings.Join(parts, ", ")}
	if amiss := len(shown.Nodes) - ready; amiss > 0 {
		figure.Unit = fmt.Sprintf("%d ready", ready)
	}
	if len(shown.Nodes) == 0 {
		figure.Note = "none"
	}
	return figure
}

// cpuTile and memoryTile show the requested part of allocatable.
func cpuTile(shown *view.View) tile {
	var part, whole resource.Quantity
	for i := range shown.Nodes {
		part.Add(shown.Nodes[i].Requested.CPU)
		whole.Add(shown.Nodes[i].Allocatable.CPU)
	}
	return used("CPU requested", part, whole, view.Cores(part)+" of "+view.Cores(whole)+" cores")
}

func memoryTile(shown *view.View) tile {
	var part, whole resource.Quantity
	for i := range shown.Nodes {
		part.Add(shown.Nodes[i].Requested.Memory)
		whole.Add(shown.Nodes[i].Allocatable.Memory)
	}
	figure := used("Memory requested", part, whole, view.Gibibytes(part)+" of "+view.Gibibytes(whole))
	figure.Class = "memory"
	return figure
}

func used(name string, part, whole resource.Quantity, amounts string) tile {
	if whole.IsZero() {
		return tile{Name: name, Value: "–", Note: "no node has joined"}
	}
	full := percent(part.AsApproximateFloat64(), whole.AsApproximateFloat64())
	return tile{Name: name, Value: fmt.Sprint(full), Unit: "%", Note: amounts, Meter: &meter{Percent: full}}
}

func waitingTile(shown *view.View) tile {
	figure := tile{Name: "Pending pods", Value: fmt.Sprint(len(shown.Waiting)), Note: "every pod has a node"}
	asleep := 0
	for i := range shown.Waiting {
		switch pod := &shown.Waiting[i]; {
		case pod.Asleep:
			asleep++
		case figure.Tone == "": // the first pod has waited longest
			figure.Note, figure.Tone = "the oldest for "+shown.Age(pod.Created), "warn"
		}
	}
	switch {
	case asleep > 0 && asleep == len(shown.Waiting):
		figure.Note = "their NodePools sleep"
	case asleep > 0:
		figure.Note += fmt.Sprintf("; NodePools of %d sleep", asleep)
	}
	return figure
}

func boundTile(shown *view.View) tile {
	figure := tile{Name: "Last plan", Value: "–", Note: "no plan yet"}
	plan := shown.Plan
	if plan == nil {
		return figure
	}
	figure.Value, figure.Unit = fmt.Sprintf("$%.4f", plan.PricePerHour), "/h"
	figure.Note = fmt.Sprintf("%d new nodes", plan.NewNodes())
	if closeness := plan.Closeness(); closeness != "" {
		figure.Note += ", " + closeness
	}
	return figure
}

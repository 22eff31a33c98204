package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/functions/console/terminal"
)

// Diff is what changes from one plan to another, in a form for programs. Its lists are sorted and
// never null.
type Diff struct {
	FormatVersion int `json:"formatVersion"`
	// Nodes are the kinds of new nodes whose number changes.
	Nodes []NodesDiff `json:"nodes"`
	// PricesPerHour are the plans' prices in $/h, and NodeCounts their new nodes.
	PricesPerHour Change[float64] `json:"pricesPerHour"`
	NodeCounts    Change[int]     `json:"nodeCounts"`
	// LosePlace are the pods, as namespace/name, that have no place any more, or are new and have none.
	// GainPlace are those that had none.
	LosePlace []string `json:"losePlace"`
	GainPlace []string `json:"gainPlace"`
	// StillNoPlace are the pods without a place in both plans.
	StillNoPlace []string `json:"stillNoPlace"`
	// Reasons say why the pods of LosePlace have none.
	Reasons []Unschedulable `json:"reasons"`
	// Added and Removed are the pods of only one of the plans.
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
	Assumed
	// Prices says where the prices come from, for people.
	Prices string `json:"prices"`
}

// Change is a value in both plans.
type Change[T any] struct {
	Before T `json:"before"`
	After  T `json:"after"`
}

// NodesDiff is the number of new nodes of one kind.
type NodesDiff struct {
	NodePool     string `json:"nodePool"`
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	// PricePerHour is the price of one node in $/h, after the change where there are any.
	PricePerHour float64 `json:"pricePerHour"`
	Change[int]
}

// DiffOf compares two plans.
func DiffOf(before, after *Plan) *Diff {
	d := &Diff{
		FormatVersion: FormatVersion, Nodes: nodesDiff(before, after),
		PricesPerHour: Change[float64]{before.PricePerHour, after.PricePerHour},
		NodeCounts:    Change[int]{len(before.Nodes), len(after.Nodes)},
		Assumed:       nothingAssumed(), Prices: after.Prices, Reasons: []Unschedulable{},
		LosePlace: []string{}, GainPlace: []string{}, Added: []string{}, Removed: []string{},
		StillNoPlace: []string{},
	}
	was, is := before.places(), after.places()
	for pod, placed := range is {
		placedBefore, known := was[pod]
		if !known {
			d.Added = append(d.Added, pod)
		}
		switch {
		case !placed && (placedBefore || !known):
			d.LosePlace = append(d.LosePlace, pod)
		case placed && known && !placedBefore:
			d.GainPlace = append(d.GainPlace, pod)
		case !placed:
			d.StillNoPlace = append(d.StillNoPlace, pod)
		}
	}
	for pod := range was {
		if _, known := is[pod]; !known {
			d.Removed = append(d.Removed, pod)
		}
	}
	for _, list := range [][]string{d.LosePlace, d.GainPlace, d.StillNoPlace, d.Added, d.Removed} {
		slices.Sort(list)
	}
	for _, u := range after.Unschedulable {
		if slices.Contains(d.LosePlace, u.Pod) {
			d.Reasons = append(d.Reasons, u)
		}
	}
	return d
}

// places says of each pod of the plan whether it has a place.
func (p *Plan) places() map[string]bool {
	placed := map[string]bool{}
	for _, n := range p.Nodes {
		for _, pod := range n.Pods {
			placed[pod] = true
		}
	}
	for _, e := range p.Existing {
		for _, pod := range e.Pods {
			placed[pod] = true
		}
	}
	for _, u := range p.Unschedulable {
		placed[u.Pod] = false
	}
	return placed
}

func nodesDiff(before, after *Plan) []NodesDiff {
	type key struct{ pool, instanceType, zone, capacityType string }
	kinds := map[key]*NodesDiff{}
	count := func(p *Plan, add func(*NodesDiff)) {
		for i := range p.Nodes {
			n := &p.Nodes[i]
			k := key{n.NodePool, n.InstanceType, n.Zone, n.CapacityType}
			if kinds[k] == nil {
				kinds[k] = &NodesDiff{
					NodePool: n.NodePool, InstanceType: n.InstanceType, Zone: n.Zone, CapacityType: n.CapacityType,
				}
			}
			kinds[k].PricePerHour = n.PricePerHour
			add(kinds[k])
		}
	}
	count(before, func(d *NodesDiff) { d.Before++ })
	count(after, func(d *NodesDiff) { d.After++ })
	changed := []NodesDiff{}
	for _, kind := range kinds {
		if kind.Before != kind.After {
			changed = append(changed, *kind)
		}
	}
	slices.SortFunc(changed, func(a, b NodesDiff) int {
		return cmp.Or(cmp.Compare(a.NodePool, b.NodePool), cmp.Compare(a.InstanceType, b.InstanceType),
			cmp.Compare(a.Zone, b.Zone), cmp.Compare(a.CapacityType, b.CapacityType))
	})
	return changed
}

// WriteTable writes what changes for people.
func (d *Diff) WriteTable(out io.Writer, style terminal.Style) error {
	var text strings.Builder
	if len(d.Nodes) > 0 {
		rows := [][]terminal.Cell{terminal.Header("", "NODEPOOL", "TYPE", "ZONE", "CAPACITY", ">$/H", ">NODES")}
		for _, n := range d.Nodes {
			sign, painted := "-", terminal.Red
			if n.After > n.Before {
				sign, painted = "+", terminal.Green
			}
			rows = append(rows, []terminal.Cell{
				{Text: sign, Color: painted}, {Text: n.NodePool}, {Text: n.InstanceType}, {Text: n.Zone}, {Text: n.CapacityType},
				{Text: dollars(n.PricePerHour), Right: true}, {Text: fmt.Sprintf("%d -> %d", n.Before, n.After), Right: true},
			})
		}
		text.WriteString(style.Table(rows) + "\n")
	}
	for _, list := range []struct {
		title string
		pods  []string
		color terminal.Color
	}{
		{"without a place now", d.LosePlace, terminal.Red},
		{"still without a place", d.StillNoPlace, terminal.Red},
		{"with a place now", d.GainPlace, terminal.Green},
		{"added", d.Added, terminal.Plain},
		{"removed", d.Removed, terminal.Plain},
	} {
		if len(list.pods) > 0 {
			text.WriteString(style.Wrap(style.Paint(list.color, count(len(list.pods), "pod")+" "+list.title)+": "+
				names(list.pods), "", "  "))
		}
	}
	price := d.PricesPerHour
	text.WriteString(style.Wrap(fmt.Sprintf("%s -> %s, $%s/h -> $%s/h (%+.4f $/h)",
		count(d.NodeCounts.Before, "new node"), count(d.NodeCounts.After, "new node"),
		dollars(price.Before), dollars(price.After), price.After-price.Before), "", "") + d.Line(style))
	_, err := io.WriteString(out, text.String())
	return err
}

package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Consolidation is the result of consolidation in a form for programs. Its lists are never null.
type Consolidation struct {
	FormatVersion int `json:"formatVersion"`
	// Moves could begin now, the best first. Waiting are moves that disruption budgets or other
	// moves hold back.
	Moves   []Move `json:"moves"`
	Waiting []Move `json:"waiting"`
	// Stays are the other nodes with NodeClaims.
	Stays []Stay `json:"stays"`
	// PricePerHour is the price of all these nodes in $/h now, AfterPerHour after Moves. ExtrasPerHour
	// is the part of PricePerHour that the nodes cost beside their instances.
	PricePerHour  float64 `json:"pricePerHour"`
	ExtrasPerHour float64 `json:"extrasPerHour"`
	AfterPerHour  float64 `json:"afterPerHour"`
	// RiskPerHour and RiskAfterPerHour are what interruptions cost beside these prices. They are on
	// no bill.
	RiskPerHour      float64 `json:"riskPerHour,omitempty"`
	RiskAfterPerHour float64 `json:"riskAfterPerHour,omitempty"`
	Assumed
	// Prices says where the prices come from, for people.
	Prices string `json:"prices"`
	// Seconds is the time for planning, without reading and writing.
	Seconds float64 `json:"seconds"`
}

// Move is one step: nodes that leave, and nodes that launch before them.
type Move struct {
	// Reason is Empty or Underutilized.
	Reason string    `json:"reason"`
	Delete []Leaving `json:"delete"`
	Launch []Node    `json:"launch"`
	// Existing are the nodes that take pods of the leaving ones.
	Existing []Existing `json:"existing"`
	// SavedPerHour is the saving in $/h with the cheapest offerings of the new nodes,
	// SavedAtLeastPerHour with the most expensive ones.
	SavedPerHour        float64 `json:"savedPerHour"`
	SavedAtLeastPerHour float64 `json:"savedAtLeastPerHour"`
	// RiskSavedPerHour is what the move saves of the risk of interruptions beside SavedPerHour.
	RiskSavedPerHour float64 `json:"riskSavedPerHour,omitempty"`
	// PodsMoved counts evicted pods that need another place. Disturbance is the sum of their
	// eviction costs: 1 for an ordinary pod.
	PodsMoved int `json:"podsMoved"`
	// PodsEnded counts those that no controller makes again.
	PodsEnded   int     `json:"podsEnded"`
	Disturbance float64 `json:"disturbance"`

	ends string
}

// Leaving is a node that a move removes.
type Leaving struct {
	Node         string `json:"node"`
	NodeClaim    string `json:"nodeClaim"`
	NodePool     string `json:"nodePool"`
	InstanceType string `json:"instanceType"`
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	// ExtrasPerHour is the part of PricePerHour that the node costs beside its instance.
	PricePerHour  float64  `json:"pricePerHour"`
	ExtrasPerHour float64  `json:"extrasPerHour"`
	RiskPerHour   float64  `json:"riskPerHour,omitempty"`
	Pods          []string `json:"pods"`
}

// Stay is a node that stays, with the reason.
type Stay struct {
	// Node is empty until the node has joined the cluster.
	Node      string `json:"node"`
	NodeClaim string `json:"nodeClaim"`
	NodePool  string `json:"nodePool"`
	// PricePerHour is zero if it is unknown. ExtrasPerHour is the part of it that the node costs
	// beside its instance.
	PricePerHour  float64 `json:"pricePerHour"`
	ExtrasPerHour float64 `json:"extrasPerHour"`
	RiskPerHour   float64 `json:"riskPerHour,omitempty"`
	// Because is Protected, Policy, Unsettled, Unpriced, Needed or TooLittle.
	Because string `json:"because"`
	Reason  string `json:"reason"`
}

// ConsolidationOf converts a consolidation plan. prices says where the prices come from.
func ConsolidationOf(p *consolidation.Plan, took time.Duration, prices string) *Consolidation {
	shown := &Consolidation{
		FormatVersion: FormatVersion, Prices: prices, Assumed: nothingAssumed(),
		Moves: movesOf(p.Moves), Waiting: movesOf(p.Waiting), Stays: make([]Stay, 0, len(p.Stays)),
		PricePerHour: p.BilledPerHour(), ExtrasPerHour: p.ExtrasPerHour, AfterPerHour: p.BilledAfterPerHour(),
		RiskPerHour: p.RiskPerHour, RiskAfterPerHour: p.RiskAfterPerHour,
		Seconds: took.Seconds(),
	}
	for _, stay := range p.Stays {
		shown.Stays = append(shown.Stays, Stay{
			Node: stay.Node, NodeClaim: stay.NodeClaim, NodePool: stay.NodePool,
			PricePerHour: stay.PricePerHour - stay.RiskPerHour, RiskPerHour: stay.RiskPerHour,
			ExtrasPerHour: stay.ExtrasPerHour, Because: string(stay.Because), Reason: stay.Message,
		})
	}
	return shown
}

func movesOf(moves []consolidation.Move) []Move {
	shown := make([]Move, 0, len(moves))
	for i := range moves {
		m := &moves[i]
		// The parts of a move have the same form as those of a plan.
		of := Of(&plan.Plan{NodeClaims: m.Launch, Nominations: m.Places}, 0, "")
		move := Move{
			Reason: string(m.Reason), Launch: of.Nodes, Existing: of.Existing,
			SavedPerHour: m.BilledSavingsPerHour(), SavedAtLeastPerHour: m.BilledSavingsAtLeast(),
			RiskSavedPerHour: m.RiskSavedPerHour,
			PodsMoved:        m.PodsMoved, PodsEnded: m.PodsEnded, Disturbance: m.Disturbance,
			ends: m.EndsPods(),
		}
		for _, leaving := range m.Delete {
			pods := make([]string, 0, len(leaving.Pods))
			for _, pod := range leaving.Pods {
				pods = append(pods, pod.String())
			}
			move.Delete = append(move.Delete, Leaving{
				Node: leaving.Node, NodeClaim: leaving.NodeClaim, NodePool: leaving.NodePool, InstanceType: leaving.InstanceType,
				Zone:         leaving.Zone,
				CapacityType: leaving.CapacityType, PricePerHour: leaving.PricePerHour - leaving.RiskPerHour,
				ExtrasPerHour: leaving.ExtrasPerHour, RiskPerHour: leaving.RiskPerHour, Pods: pods,
			})
		}
		shown = append(shown, move)
	}
	return shown
}

// WriteTable writes the moves for people.
func (c *Consolidation) WriteTable(out io.Writer, style terminal.Style) error {
	var text strings.Builder
	for _, part := range []struct {
		title string
		moves []Move
	}{{"moves", c.Moves}, {"moves that wait for disruption budgets, or for the moves above", c.Waiting}} {
		if len(part.moves) == 0 {
			continue
		}
		fmt.Fprintf(&text, "%s\n", style.Paint(terminal.Bold, part.title))
		rows := [][]terminal.Cell{terminal.Header(">SAVES $/H", ">PODS MOVED", "REASON", "REMOVES", "REPLACEMENT")}
		for i := range part.moves {
			rows = append(rows, part.moves[i].rows()...)
		}
		text.WriteString(style.Table(rows) + "\n")
	}
	if len(c.Stays) > 0 {
		fmt.Fprintf(&text, "%s\n", style.Paint(terminal.Bold, "nodes that stay"))
		rows := [][]terminal.Cell{terminal.Header("NODE", ">$/H", "BECAUSE", "")}
		for _, stay := range c.Stays {
			name := stay.Node
			if name == "" {
				name = stay.NodeClaim
			}
			rows = append(
				rows,
				[]terminal.Cell{
					{Text: name}, {Text: dollars(stay.PricePerHour), Right: true}, {Text: stay.Because},
					{Text: stay.Reason},
				},
			)
		}
		text.WriteString(style.Table(rows) + "\n")
	}
	if len(c.Moves)+len(c.Waiting)+len(c.Stays) == 0 {
		_, err := io.WriteString(out, style.Wrap("There is no node with a NodeClaim. Only nodes that Whittle or "+
			"Karpenter launched are consolidated.", "", ""))
		return err
	}
	fmt.Fprintf(
		&text, "$%s/h now%s, $%s/h%s after %s of %d\n",
		dollars(c.PricePerHour), extrasText(c.ExtrasPerHour)+riskText(c.RiskPerHour),
		dollars(c.AfterPerHour), riskText(c.RiskAfterPerHour), count(len(c.Moves), "move"), len(c.Moves)+len(c.Waiting),
	)
	text.WriteString(pricesLine(style, c.Prices) + c.Line(style))
	_, err := io.WriteString(out, text.String())
	return err
}

// rows returns the move's lines: leaving nodes on the left, their replacement on the right.
func (m *Move) rows() [][]terminal.Cell {
	var gone, come []string
	for _, leaving := range m.Delete {
		gone = append(
			gone,
			fmt.Sprintf(
				"%s (%s %s %s)", leaving.Node, leaving.InstanceType, leaving.CapacityType,
				dollars(leaving.PricePerHour),
			),
		)
	}
	for i := range m.Launch {
		come = append(
			come,
			fmt.Sprintf("new %s %s %s", m.Launch[i].InstanceType, m.Launch[i].CapacityType,
				dollars(m.Launch[i].PricePerHour)),
		)
	}
	slices.Sort(come)
	if room := len(m.Existing); room > 0 {
		come = append(come, "room on "+count(room, "node"))
	}
	if m.RiskSavedPerHour != 0 {
		come = append(come, fmt.Sprintf("%+.4f $/h of the risk of interruptions", -m.RiskSavedPerHour))
	}
	if m.ends != "" {
		come = append(come, m.ends)
	}
	var rows [][]terminal.Cell
	for i := range max(len(gone), len(come)) {
		row := []terminal.Cell{{}, {}, {}, {}, {}}
		if i == 0 {
			row[0] = terminal.Cell{Text: dollars(m.SavedPerHour), Right: true}
			row[1], row[2] = terminal.Cell{Text: fmt.Sprint(m.PodsMoved), Right: true}, terminal.Cell{Text: m.Reason}
		}
		if i < len(gone) {
			row[3].Text = gone[i]
		}
		if i < len(come) {
			row[4].Text = come[i]
		}
		rows = append(rows, row)
	}
	return rows
}

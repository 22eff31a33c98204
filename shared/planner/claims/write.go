package claims

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/dense"
	"github.com/whittle-dev/whittle/shared/planner/offering"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/resource"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// claimWriter writes claims. A plan may have thousands of equal nodes, so claims share what follows
// from equal input: choices, requirements, requests and templates.
type claimWriter struct {
	state *placement.State
	// ledger is what the planned nodes leave of limits and stocks, and later their choices.
	ledger *placement.Ledger
	// choices are numbered by choiceKeys, of a node's alternatives.
	choiceKeys *dense.Table
	choices    []*choices
	// requirements are numbered by requirementKeys, of the choices and what decides base requirements.
	requirementKeys *dense.Table
	requirements    []*claimRequirements
	// bases are base requirements, sorted by key. Their map keys end requirementKeys' keys.
	bases map[string][]scheduling.Requirement
	// requests are numbered by requestKeys, of the sum of needs and of daemon sets.
	requestKeys *dense.Table
	requests    []corev1.ResourceList
	templates   map[*offering.Pool]*claimTemplate
	// pods is memory for the pods of all claims.
	pods []plan.PodRef
	// assigned is how many units of each demand have a claim.
	assigned []int
	// needs, feasibilities, typeNames and key are memory for one node.
	needs         resource.Vector
	feasibilities []int
	typeNames     dense.Set
	key           []byte
}

// choices are the alternatives that a claim keeps, and what the claim says of them.
type choices struct {
	index int
	// numbers are the offerings, cheapest first; types and offerings are their names.
	numbers   []int
	types     []string
	offerings []plan.Choice
	// priceOverlay and capacityOverlay say that a NodeOverlay changed the price or capacity of one.
	priceOverlay, capacityOverlay bool
	// limitUse is the most that one of them takes of each limit.
	limitUse []offering.Use
	// commitment is the text that names the commitment which pays for the node; empty for none.
	commitment string
}

// Write writes the claims of the planned nodes, in their order. It assigns the pods of each demand
// to its nodes, and removes those units from the demand. It returns the claims, and how many units
// of each demand it assigned.
func Write(state *placement.State, nodes []*placement.PlannedNode) ([]plan.PlannedNodeClaim, []int) {
	w := &claimWriter{
		state: state, ledger: state.NewLedger(nodes), choiceKeys: dense.NewTable(len(nodes)),
		requirementKeys: dense.NewTable(len(nodes)), requestKeys: dense.NewTable(len(nodes)),
		bases: map[string][]scheduling.Requirement{}, templates: map[*offering.Pool]*claimTemplate{},
		assigned: make([]int, len(state.Demands)), needs: make(resource.Vector, len(state.Work.Axes.Names)),
		typeNames: dense.NewSet(len(state.Offers.PoolTypes)),
	}
	placed := make([]int, len(state.Demands))
	pods := 0
	for _, n := range nodes {
		for _, f := range n.Fills {
			placed[f.Demand] += f.Count
			pods += f.Count * state.Demands[f.Demand].PodsPerUnit()
		}
	}
	w.pods = make([]plan.PodRef, 0, pods)
	claims := slices.Grow([]plan.PlannedNodeClaim(nil), len(nodes))[:len(nodes)]
	for _, n := range nodes {
		w.reserveMinValues(n, -1)
	}
	for i, n := range nodes {
		w.write(&claims[i], n)
	}
	state.LimitsLeft = w.ledger.Limits
	for i, d := range state.Demands {
		d.Units = d.Units[w.assigned[i]:]
	}
	return claims, placed
}

// reserveMinValues adds what minValues need of the limits for a node, times the factor, to what the
// ledger has left. With the factor -1 it keeps other nodes' choices from taking that.
func (w *claimWriter) reserveMinValues(n *placement.PlannedNode, factor int64) {
	for _, use := range w.state.MinValuesReserve(n) {
		w.ledger.Limits[use.Limit] += factor * use.Amount
	}
}

// write writes the claim of one node.
func (w *claimWriter) write(planned *plan.PlannedNodeClaim, n *placement.PlannedNode) {
	offers := w.state.Offers
	own := offers.PoolTypeOf(n.Offering)
	w.reserveMinValues(n, 1)
	c := w.choose(n)
	// The claim may become the greatest of its choices, so that counts against the limits.
	counted := offers.LimitUse(n.Offering)
	for _, use := range c.limitUse {
		w.ledger.Limits[use.Limit] -= use.Amount - offering.UseOf(counted, use.Limit)
	}
	if offers.Stocked.Has(n.Offering) {
		w.ledger.TakeStocks(c.numbers, n.Offering)
	}
	planned.Offerings, planned.InstanceTypes = c.offerings, c.types
	planned.TakePrices()
	planned.Pods = w.assign(n)
	w.fillClaim(
		&planned.NodeClaim,
		own.Pool,
		c,
		w.requirementsOf(n, c),
		w.requestsOf(n, offers.PoolTypeOf(c.numbers[0])),
		planned.Pods,
	)
}

// assign takes the node's pods from its demands, and returns them sorted.
func (w *claimWriter) assign(n *placement.PlannedNode) []plan.PodRef {
	first := len(w.pods)
	for _, f := range n.Fills {
		d := w.state.Demands[f.Demand]
		assigned := w.assigned[f.Demand]
		for _, unit := range d.Units[assigned : assigned+f.Count] {
			for _, pod := range unit {
				w.pods = append(w.pods, plan.RefOf(pod))
			}
		}
		w.assigned[f.Demand] += f.Count
	}
	pods := w.pods[first:len(w.pods):len(w.pods)]
	slices.SortFunc(pods, plan.CompareRefs)
	return pods
}

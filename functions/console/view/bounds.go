package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/commitment"
	"github.com/whittle-dev/whittle/shared/limit"
	"github.com/whittle-dev/whittle/shared/membership"
	"github.com/whittle-dev/whittle/shared/nodecost"
	"github.com/whittle-dev/whittle/shared/plan"
	planner "github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Commitments are the account's, and who uses them.
type Commitments struct {
	// Time is when they were counted. Current says that prices of plans count them now.
	Time    time.Time `json:"time"`
	Current bool      `json:"current"`
	// Held are in the order in which AWS applies them.
	Held []commitment.Use `json:"held"`
	// The sums of all of them in $/h.
	PerHour       float64 `json:"perHour"`
	OwnPerHour    float64 `json:"ownPerHour"`
	OthersPerHour float64 `json:"othersPerHour"`
	IdlePerHour   float64 `json:"idlePerHour"`
	// Ending are those that end within 30 days.
	Ending []Ending `json:"ending,omitempty"`
}

// Ending is a commitment that ends soon.
type Ending struct {
	commitment.Ending
	// Message says when it ends, and what to do.
	Message string `json:"message"`
}

// commitments shows the last count, or nil where nobody counts.
func commitments(reading *commitment.Reading, now time.Time) *Commitments {
	if reading == nil {
		return nil
	}
	shown := &Commitments{Time: reading.Time, Current: reading.Current(now), Held: []commitment.Use{}}
	for i := range reading.Stocks {
		one := reading.Stocks[i].Use()
		one.ID, one.Covers = printable.Line(one.ID), printable.Line(one.Covers)
		shown.Held = append(shown.Held, one)
		shown.PerHour += one.PerHour
		shown.OwnPerHour += one.OwnPerHour
		shown.OthersPerHour += one.OthersPerHour
		shown.IdlePerHour += one.IdlePerHour
	}
	for _, one := range reading.Ending {
		if one.Ends.After(now) {
			shown.Ending = append(shown.Ending, Ending{one, printable.Line(one.String())})
		}
	}
	return shown
}

// MostIdle returns the commitments with the largest idle parts first, at most so many; 0 for all.
func (c *Commitments) MostIdle(most int) (shown []commitment.Use, more int) {
	sorted := slices.SortedStableFunc(slices.Values(c.Held), func(a, b commitment.Use) int {
		return cmp.Compare(b.IdlePerHour, a.IdlePerHour)
	})
	return first(sorted, most)
}

// Text sums up the commitments in a line.
func (c *Commitments) Text(age string) string {
	text := fmt.Sprintf("Commitments of the account: $%.4f/h, of which this cluster uses $%.4f/h, others use $%.4f/h, "+
		"and $%.4f/h is idle; counted %s ago", c.PerHour, c.OwnPerHour, c.OthersPerHour, c.IdlePerHour, age)
	if !c.Current {
		text += ", so that plans count none of them: read the log of lifecycle"
	}
	return text
}

// Limit is an amount that nodes may have together, and what is used of it.
type Limit struct {
	// Kind and Name are those of the object whose limit it is: a NodePool or a CapacityQuota, or setting
	// and the setting's name.
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Resource string `json:"resource"`
	// Most, Used and Left are for people, in the resource's unit.
	Most string `json:"most"`
	Used string `json:"used"`
	Left string `json:"left"`
	// Part is the used part; above one where the limit was lowered, or while nodes are replaced.
	Part float64 `json:"part"`
}

// Owner is whose limit it is.
func (l *Limit) Owner() string { return strings.ToLower(l.Kind) + " " + l.Name }

// limits are those of NodePools, CapacityQuotas and the deployment. They are those of all nodes, not
// only of the selected ones.
func limits(objects *Cluster) []Limit {
	if objects.whole != nil {
		objects = objects.whole
	}
	pools := make([]*api.NodePool, len(objects.NodePools))
	for i := range objects.NodePools {
		pools[i] = &objects.NodePools[i]
	}
	slices.SortFunc(pools, func(a, b *api.NodePool) int { return strings.Compare(a.Name, b.Name) })
	spanning := limit.OfQuotas(objects.Quotas)
	if told := objects.Status.Deployment; told != nil && told.MaxDollarsPerHour > 0 {
		spanning = append(spanning, limit.OfCluster(told.MaxDollarsPerHour))
	}
	all := limit.Of(pools, spanning)
	if len(all) == 0 {
		return nil
	}
	var shown []Limit
	nodes := nodesOf(objects)
	for _, one := range all {
		for _, name := range slices.Sorted(maps.Keys(one.Resources)) {
			shown = append(shown, limitOf(one, name, nodes))
		}
	}
	return shown
}

// limitOf counts what the nodes have of one resource, as plans do. A claim that has not launched takes
// a node, and nothing else that is known here.
func limitOf(of *limit.Limit, name corev1.ResourceName, nodes []plan.Node) Limit {
	quantity, used := of.Resources[name], int64(0)
	for i := range nodes {
		if node := &nodes[i]; scheduling.CountsAgainstLimits(node.NodeClaim, node.Node) && of.Counts(node, nil) {
			used += takes(node, name)
		}
	}
	most := planner.AmountDown(name, &quantity)
	shown := Limit{
		Resource: string(name), Most: planner.Text(name, most), Used: planner.Text(name, used),
		Left: planner.Text(name, max(most-used, 0)), Part: 1,
	}
	shown.Kind, shown.Name = of.Subject()
	if most > 0 {
		shown.Part = float64(used) / float64(most)
	}
	return shown
}

// takes is what a node has of a resource.
func takes(node *plan.Node, name corev1.ResourceName) int64 {
	switch name {
	case api.ResourceNodes:
		return 1
	case api.ResourceDollarsPerHour:
		return planner.AmountOfDollars(limit.Price(node, nil))
	}
	quantity := node.Capacity()[name]
	return planner.AmountUp(name, &quantity)
}

// nodesOf joins claims and nodes, with the list price of each claim that has an instance.
func nodesOf(objects *Cluster) []plan.Node {
	costs := nodecost.Of(objects.Catalog, objects.NodeClasses, objects.NodePools)
	members := membership.Join(objects.NodeClaims, objects.Nodes)
	made := make([]plan.Node, 0, len(objects.NodeClaims))
	for i := range objects.NodeClaims {
		claim := &objects.NodeClaims[i]
		joined := plan.Node{NodeClaim: claim, Node: members.Node(claim)}
		if claim.Status.ProviderID != "" {
			joined.PricePerHour, _ = costs.PriceOfClaim(claim)
		}
		made = append(made, joined)
	}
	for i := range objects.Nodes {
		if node := &objects.Nodes[i]; members.Claim(node) == nil {
			made = append(made, plan.Node{Node: node})
		}
	}
	return made
}

// Fullest returns the limits of which the largest parts are used first, at most so many; 0 for all.
func (v *View) Fullest(most int) (shown []Limit, more int) {
	return first(slices.SortedStableFunc(slices.Values(v.Limits), func(a, b Limit) int {
		return cmp.Compare(b.Part, a.Part)
	}), most)
}

// first are at most so many of the list, and how many others there are. Zero is all.
func first[T any](list []T, most int) (shown []T, more int) {
	if most <= 0 || len(list) <= most {
		return list, 0
	}
	return list[:most], len(list) - most
}

// writeLimits writes a table of the limits.
func (v *View) writeLimits(text *strings.Builder, form Form) {
	if len(v.Limits) == 0 {
		return
	}
	rows := [][]terminal.Cell{terminal.Header("LIMIT OF", "RESOURCE", "MOST", "USED", "LEFT")}
	shown, more := v.Fullest(form.Most)
	for i := range shown {
		one := &shown[i]
		rows = append(rows, row(one.Owner(), one.Resource, one.Most, one.Used, one.Left))
	}
	text.WriteString(form.Style.Fit(rows))
	writeMore(text, more)
}

// writeCommitments writes a table of the commitments.
func (v *View) writeCommitments(text *strings.Builder, form Form) {
	if v.Commitments == nil {
		return
	}
	rows := [][]terminal.Cell{
		terminal.Header("COMMITMENT", "KIND", "PAYS FOR", "$/H", "USED HERE", "BY OTHERS", "IDLE", "ENDS"),
	}
	shown, more := v.Commitments.MostIdle(form.Most)
	for i := range shown {
		one := &shown[i]
		rows = append(rows, row(one.ID, one.Kind, one.Covers, dollars(one.PerHour), dollars(one.OwnPerHour),
			dollars(one.OthersPerHour), dollars(one.IdlePerHour), EndText(one)))
	}
	text.WriteString(form.Style.Fit(rows, 1, 7, 2))
	writeMore(text, more)
}

// Endings says which commitments end soon.
func (v *View) Endings() []string {
	var all []string
	if v.Commitments != nil {
		for _, one := range v.Commitments.Ending {
			all = append(all, one.Message)
		}
	}
	return all
}

// EndText is the day on which the first of its purchases ends.
func EndText(of *commitment.Use) string {
	if of.Ends.IsZero() {
		return none
	}
	return of.Ends.UTC().Format("2006-01-02")
}

func writeMore(text *strings.Builder, more int) {
	if more > 0 {
		fmt.Fprintf(text, "and %d more: -A shows all\n", more)
	}
	text.WriteString("\n")
}

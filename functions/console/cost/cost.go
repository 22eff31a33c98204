package cost

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/nodestate"
	"github.com/whittle-dev/whittle/shared/scheduling"
	"github.com/whittle-dev/whittle/shared/status"
)

// hoursOfAMonth is the mean number of hours in a month, as AWS's calculator has it.
const hoursOfAMonth = 730

// Idle is the name of the row of what no pod requests.
const Idle = "(idle)"

// By says among whom the bill is shared.
type By struct {
	// Label is a label of pods. Without it the bill is shared among namespaces, or among NodePools.
	Label    string
	NodePool bool
}

// String is the value of the command's flag.
func (b By) String() string {
	switch {
	case b.Label != "":
		return "label:" + b.Label
	case b.NodePool:
		return "nodepool"
	}
	return "namespace"
}

// Report is a cluster's bill, and who uses it.
type Report struct {
	FormatVersion int       `json:"formatVersion"`
	Time          time.Time `json:"time"`
	// By says what the rows are: namespace, nodepool or label:KEY.
	By string `json:"by"`
	// PerHour is the price of the nodes in $/h with all extras, after commitments, and PerMonth what it
	// comes to in 730 hours.
	PerHour  float64 `json:"perHour"`
	PerMonth float64 `json:"perMonth"`
	// ListPerHour is the price of the same nodes without commitments. Commitments pay for CoveredPerHour
	// of it, and CommitmentsPerHour in PerHour is what these parts of them cost.
	ListPerHour        float64 `json:"listPerHour"`
	CoveredPerHour     float64 `json:"coveredPerHour"`
	CommitmentsPerHour float64 `json:"commitmentsPerHour"`
	// ExtrasPerHour is the part of it for volumes, public addresses and fees. OnDemandPerHour is what the same nodes
	// cost on demand.
	ExtrasPerHour   float64 `json:"extrasPerHour"`
	OnDemandPerHour float64 `json:"onDemandPerHour"`
	// IdlePerHour is the part that no pod requests.
	IdlePerHour float64 `json:"idlePerHour"`
	Nodes       int     `json:"nodes"`
	// Unpriced is how many nodes have no known price. They are no part of the bill: those of others, above all.
	Unpriced int   `json:"unpriced"`
	Rows     []Row `json:"rows"`
	// Commitments are those of the account; nil where nobody counts them. Their idle parts are no part of
	// PerHour, because they belong to the account.
	Commitments *view.Commitments `json:"commitments,omitempty"`
	// LastDay is what the nodes cost in the last 24 hours; nil without samples.
	LastDay *Day `json:"lastDay,omitempty"`
	// Waste are the parts of the bill that somebody can end, the largest first.
	Waste []Waste `json:"waste,omitempty"`
}

// Row is the part of the bill of one of those who share it.
type Row struct {
	Name string `json:"name"`
	// Pods are those that run, and Nodes those of a NodePool.
	Pods  int `json:"pods"`
	Nodes int `json:"nodes,omitempty"`
	// PerHour is its part in $/h, and OnDemandPerHour what that part costs on demand. IdlePerHour is what no pod
	// requests of a NodePool's nodes: it is in PerHour.
	PerHour         float64 `json:"perHour"`
	PerMonth        float64 `json:"perMonth"`
	OnDemandPerHour float64 `json:"onDemandPerHour"`
	IdlePerHour     float64 `json:"idlePerHour,omitempty"`
	// ListPerHour is its part without commitments, and CommitmentsPerHour what commitments cost in
	// PerHour.
	ListPerHour        float64 `json:"listPerHour"`
	CommitmentsPerHour float64 `json:"commitmentsPerHour,omitempty"`
	// Part is its part of the whole bill.
	Part float64 `json:"part"`
}

// Waste is a part of the bill that somebody can end.
type Waste struct {
	PerHour float64 `json:"perHour"`
	What    string  `json:"what"`
	// Remedy is the command or the change that ends it.
	Remedy string `json:"remedy"`
}

// Day is the last 24 hours, as far as somebody measured them.
type Day struct {
	Hours float64 `json:"hours"`
	// Dollars are at list prices: how commitments paid for the nodes is not kept.
	Dollars float64 `json:"dollars"`
}

// sum is a row in whole units.
type sum struct {
	pods, nodes                           int
	paid, onDemand, idle, list, committed int64
}

// add adds what a node or a pod costs.
func (s *sum) add(paid, onDemand, list, committed int64) {
	s.paid, s.onDemand = s.paid+paid, s.onDemand+onDemand
	s.list, s.committed = s.list+list, s.committed+committed
}

// ledger sums up a bill.
type ledger struct {
	by                            By
	rows                          map[string]*sum
	bill, extras, onDemand, idles int64
	list, covered, committed      int64
	nodes, unpriced, silent       int
	empty, kept                   waste
	wasted                        []Waste // by commitments
}

// waste counts nodes that cost something for one reason. first names one of them.
type waste struct {
	nodes int
	paid  int64
	first string
}

// Of shares the bill of the shown cluster.
func Of(objects *view.Cluster, shown *view.View, by By) *Report {
	l := &ledger{by: by, rows: map[string]*sum{}}
	pods := map[string][]*corev1.Pod{}
	for i := range objects.Pods {
		if pod := &objects.Pods[i]; pod.Spec.NodeName != "" && !scheduling.IsTerminal(pod) {
			pods[pod.Spec.NodeName] = append(pods[pod.Spec.NodeName], pod)
		}
	}
	allocatable := map[string]corev1.ResourceList{}
	for i := range objects.Nodes {
		allocatable[objects.Nodes[i].Name] = objects.Nodes[i].Status.Allocatable
	}
	for i := range shown.Nodes {
		l.add(&shown.Nodes[i], pods[shown.Nodes[i].Name], allocatable[shown.Nodes[i].Name])
	}
	l.wasted = idleCommitments(objects, shown.Commitments)
	report := l.report(shown.Time)
	report.Commitments, report.LastDay = shown.Commitments, dayOf(shown.Day)
	return report
}

// dayOf adds up the samples of the last day that have a price.
func dayOf(samples []status.Sample) *Day {
	day := Day{}
	for _, sample := range samples {
		if sample.PricePerHour != nil {
			day.Hours += status.SampleEvery.Hours()
			day.Dollars += *sample.PricePerHour * status.SampleEvery.Hours()
		}
	}
	if day.Hours == 0 {
		return nil
	}
	return &day
}

// add adds a node with its pods.
func (l *ledger) add(n *view.Node, pods []*corev1.Pod, allocatable corev1.ResourceList) {
	if n.PricePerHour <= 0 {
		if n.NodeClaim == "" || n.ProviderID != "" {
			l.unpriced++
		}
		return
	}
	list, covered, committed := units(n.PricePerHour), units(n.CoveredPerHour), units(n.CommitmentsPerHour)
	outside := max(list-covered, 0) // of commitments
	bill := outside + committed
	onDemand := max(units(n.OnDemandPerHour+n.ExtrasPerHour), 0)
	l.nodes++
	l.list, l.covered, l.committed = l.list+list, l.covered+list-outside, l.committed+committed
	l.bill, l.extras, l.onDemand = l.bill+bill, l.extras+units(n.ExtrasPerHour), l.onDemand+onDemand
	by, parts := weights(allocatable), make([]float64, len(pods))
	for i, pod := range pods {
		if parts[i] = part(pod, allocatable, by); parts[i] == 0 {
			l.silent++
		}
	}
	paid, idle := divide(outside, parts)
	used, unused := divide(committed, parts)
	dear, dearIdle := divide(onDemand, parts)
	listed, listedIdle := divide(list, parts)
	l.idles += idle + unused
	if l.by.NodePool {
		row := l.row(cmp.Or(n.NodePool, "(none)"))
		row.nodes, row.pods = row.nodes+1, row.pods+len(pods)
		row.add(bill, onDemand, list, committed)
		row.idle += idle + unused
	} else {
		for i, pod := range pods {
			row := l.row(l.nameOf(pod))
			row.pods++
			row.add(paid[i]+used[i], dear[i], listed[i], used[i])
		}
		if idle > 0 || unused > 0 || dearIdle > 0 || listedIdle > 0 {
			l.row(Idle).add(idle+unused, dearIdle, listedIdle, unused)
		}
	}
	l.judge(n, pods, bill)
}

// judge counts the node's price as waste where somebody can end it.
func (l *ledger) judge(n *view.Node, pods []*corev1.Pod, bill int64) {
	works := slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
		return !scheduling.IsOwnedByDaemonSet(pod) && !scheduling.IsStatic(pod)
	})
	switch isKept := slices.ContainsFunc(n.Marks, func(m nodestate.Mark) bool { return m.Word == nodestate.Kept }); {
	case isKept && !works:
		l.kept.add(n, bill)
	case !works && n.State == nodestate.Ready:
		l.empty.add(n, bill)
	}
}

func (w *waste) add(n *view.Node, bill int64) {
	if w.nodes == 0 {
		w.first = n.Name
	}
	w.nodes, w.paid = w.nodes+1, w.paid+bill
}

func (l *ledger) row(name string) *sum {
	if l.rows[name] == nil {
		l.rows[name] = &sum{}
	}
	return l.rows[name]
}

// nameOf is the name of the pod's row.
func (l *ledger) nameOf(pod *corev1.Pod) string {
	if l.by.Label == "" {
		return pod.Namespace
	}
	if value, has := pod.Labels[l.by.Label]; has {
		return value
	}
	return "(none)"
}

// report puts the sums into dollars.
func (l *ledger) report(at time.Time) *Report {
	r := &Report{
		FormatVersion: 1, Time: at, By: l.by.String(), PerHour: dollars(l.bill), PerMonth: dollars(l.bill * hoursOfAMonth),
		ListPerHour: dollars(l.list), CoveredPerHour: dollars(l.covered), CommitmentsPerHour: dollars(l.committed),
		ExtrasPerHour: dollars(l.extras), OnDemandPerHour: dollars(l.onDemand), IdlePerHour: dollars(l.idles),
		Nodes: l.nodes, Unpriced: l.unpriced, Rows: []Row{},
	}
	names := slices.SortedFunc(maps.Keys(l.rows), func(a, b string) int {
		return cmp.Or(compareIdle(a, b), -cmp.Compare(l.rows[a].paid, l.rows[b].paid), strings.Compare(a, b))
	})
	for _, name := range names {
		s := l.rows[name]
		row := Row{
			Name: name, Pods: s.pods, Nodes: s.nodes, PerHour: dollars(s.paid), PerMonth: dollars(s.paid * hoursOfAMonth),
			OnDemandPerHour: dollars(s.onDemand), IdlePerHour: dollars(s.idle),
			ListPerHour: dollars(s.list), CommitmentsPerHour: dollars(s.committed),
		}
		if l.bill > 0 {
			row.Part = float64(s.paid) / float64(l.bill)
		}
		r.Rows = append(r.Rows, row)
	}
	r.Waste = l.waste()
	return r
}

// compareIdle has the row of what is idle last.
func compareIdle(a, b string) int {
	switch {
	case a == b:
		return 0
	case a == Idle:
		return 1
	case b == Idle:
		return -1
	}
	return 0
}

// waste are the parts that somebody can end.
func (l *ledger) waste() []Waste {
	var list []Waste
	if l.idles > 0 {
		list = append(list, Waste{dollars(l.idles), "no pod requests this room",
			"whittle plan -consolidate shows the moves that end a part of it"})
	}
	if l.empty.nodes > 0 {
		list = append(list, Waste{dollars(l.empty.paid), does(l.empty.nodes, "node", "run") + " DaemonSets alone",
			"whittle explain node " + l.empty.first + " says when it goes"})
	}
	if l.kept.nodes > 0 {
		list = append(list, Waste{dollars(l.kept.paid),
			does(l.kept.nodes, "node", "run") + " DaemonSets alone, at somebody's wish",
			"whittle explain node " + l.kept.first + " names the wish"})
	}
	if l.silent > 0 {
		list = append(list, Waste{0, does(l.silent, "pod", "request") + " nothing, so that what is used counts as idle",
			"set spec.containers[].resources.requests"})
	}
	list = append(list, l.wasted...)
	slices.SortStableFunc(list, func(a, b Waste) int { return -cmp.Compare(a.PerHour, b.PerHour) })
	return list
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// does says what one or more of them do.
func does(n int, what, verb string) string {
	if n == 1 {
		verb += "s"
	}
	return count(n, what) + " " + verb
}

func units(price float64) int64 { return int64(math.Round(price * micro)) }

func dollars(amount int64) float64 { return float64(amount) / micro }

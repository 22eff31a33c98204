package state

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/consolidation/podgroup"
	"github.com/whittle-dev/whittle/shared/consolidation/relations"
	"github.com/whittle-dev/whittle/shared/consolidation/settings"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/workload"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Fleet is the cluster after the steps so far.
type Fleet struct {
	// Nodes are the existing nodes by name, then the launched ones. Removed ones stay in the list.
	Nodes []*Node
	// Groups numbers the groups of equal pods.
	Groups *podgroup.Groups
	// Now is the snapshot's time.
	Now time.Time

	pools     map[string]*Pool
	source    *plan.Snapshot
	relations *relations.Index
	// types are the instance types that can still be bought, after what launches took of
	// reservations. below caches TypesBelow.
	types map[string][]catalog.InstanceType
	below map[int]map[string][]catalog.InstanceType
	// limitsMoney says that a limit is one of money.
	limitsMoney bool
	// serial numbers the launched nodes.
	serial int
	// stocksPrice is what is left of capacity reservations and commitments is worth, in US dollars
	// an hour. ReadDualPrices sets it.
	stocksPrice float64
}

// Pool is a NodePool with the instance types that its nodes can be.
type Pool struct {
	API *api.NodePool
	settings.Settings
	// Problem says which setting cannot be read. It is empty if all can be.
	Problem string

	types map[string]*catalog.InstanceType
}

// New reads the snapshot. It plans for the pending pods first: nodes that they are nominated to
// hold them as Fixed pods, so that no other pod moves into their room. Pending pods that need new
// nodes are left to provisioning. No node is a candidate yet.
func New(cluster *plan.Snapshot, now time.Time) *Fleet {
	// Questions to the planner have a part of the nodes.
	whole := *cluster
	whole.VolumeLimits = workload.ObservedVolumes(cluster)
	cluster = &whole
	f := &Fleet{
		Now: now, pools: map[string]*Pool{}, source: cluster, relations: relations.Read(cluster),
		Groups: podgroup.New(cluster),
		types:  cluster.InstanceTypes, below: map[int]map[string][]catalog.InstanceType{},
		limitsMoney: limitsMoney(cluster),
	}
	f.readPools()
	nominated := f.placePending()
	for i := range cluster.Nodes {
		f.Nodes = append(f.Nodes, f.newNode(&cluster.Nodes[i], nominated))
	}
	slices.SortFunc(f.Nodes, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	f.readGangs()
	return f
}

func (f *Fleet) readPools() {
	known := slices.Concat(f.source.NodePools, f.source.PausedPools)
	for i := range known {
		p := &Pool{API: &known[i], types: map[string]*catalog.InstanceType{}}
		var err error
		if p.Settings, err = settings.Read(p.API); err != nil {
			p.Problem = err.Error()
		}
		types := f.source.InstanceTypes[p.API.Name]
		for j := range types {
			p.types[types[j].Name] = &types[j]
		}
		f.pools[p.API.Name] = p
	}
}

// Pools are the NodePools by name.
func (f *Fleet) Pools() []*Pool {
	byName := func(a, b *Pool) int { return strings.Compare(a.API.Name, b.API.Name) }
	return slices.SortedFunc(maps.Values(f.pools), byName)
}

// PoolOf is the NodePool of a planned claim.
func (f *Fleet) PoolOf(planned *plan.PlannedNodeClaim) *Pool {
	return f.pools[planned.NodeClaim.Labels[api.NodePoolLabelKey]]
}

// placePending returns, by node name, the pending pods that the existing nodes have room for.
func (f *Fleet) placePending() map[string][]*corev1.Pod {
	if len(f.source.Pods) == 0 {
		return nil
	}
	pending := map[string]*corev1.Pod{}
	for i := range f.source.Pods {
		pod := &f.source.Pods[i]
		pending[pod.Namespace+"/"+pod.Name] = pod
	}
	places := map[string][]*corev1.Pod{}
	for _, nomination := range planning.Solve(f.source).Nominations {
		name := cmp.Or(nomination.NodeName, nomination.NodeClaimName)
		places[name] = append(places[name], pending[nomination.Pod.String()])
	}
	return places
}

func (f *Fleet) newNode(source *plan.Node, nominated map[string][]*corev1.Pod) *Node {
	n := &Node{Source: source, Leaving: IsLeaving(source)}
	if source.Node != nil {
		n.Name = source.Node.Name
	} else if source.NodeClaim != nil {
		n.Name = source.NodeClaim.Name
	}
	n.Pool = f.pools[n.Source.Pool()]
	n.domains = f.domainsOf(n)
	n.Price, n.Extras, n.Risk = n.Pool.priceOf(n)
	n.Price -= float64(n.Source.Paid * (n.Price - n.Extras - n.Risk)) // leaving what is paid for saves nothing
	for _, object := range nominated[n.Name] {
		n.Fixed = append(n.Fixed, object)
		n.Nominated++
	}
	for i := range source.Pods {
		object := &source.Pods[i]
		switch {
		case scheduling.IsTerminal(object):
		case scheduling.IsReschedulable(object):
			n.Pods = append(n.Pods, f.newPod(object, n))
		default:
			n.Fixed = append(n.Fixed, object)
		}
	}
	for _, object := range n.Fixed {
		_, selectors := f.relations.Of(object)
		n.fixedSelectors = append(n.fixedSelectors, selectors...)
	}
	slices.SortFunc(n.Pods, ComparePods)
	n.original = slices.Clone(n.Pods)
	return n
}

// Planner returns the snapshot for a question to the planner. It has no pods and no nodes, and only
// instance types that can still be bought.
func (f *Fleet) Planner() plan.Snapshot {
	s := *f.source
	s.Pods, s.Nodes, s.InstanceTypes = nil, nil, f.types
	return s
}

// ReadDualPrices asks the planner for the dual prices of all pods on the nodes.
func (f *Fleet) ReadDualPrices() {
	s := f.Planner()
	var pods []*Pod
	for _, n := range f.Nodes {
		pods = append(pods, n.Pods...)
	}
	for _, pod := range pods {
		s.Pods = append(s.Pods, pod.Successor())
	}
	prices, stocks := planner.DualPrices(&s)
	for i, price := range prices {
		pods[i].DualPrice = price
	}
	f.stocksPrice = stocks
	for _, n := range f.Nodes {
		n.cache.priced = false
	}
}

// Waste is the most that new nodes for the pods of the node may save, in US dollars an hour. They
// may have all that is left of capacity reservations and commitments.
func (f *Fleet) Waste(n *Node) float64 { return n.Price - max(n.DualPrice()-f.stocksPrice, 0) }

// IsRelated tells whether spread or affinity relates the pod to others.
func (f *Fleet) IsRelated(pod *corev1.Pod) bool {
	related, _ := f.relations.Of(pod)
	return related
}

// Reset takes all steps back.
func (f *Fleet) Reset() {
	f.Nodes = slices.DeleteFunc(f.Nodes, func(n *Node) bool { return n.Launched != nil })
	for _, n := range f.Nodes {
		n.Removed, n.group, n.Pods = false, nil, slices.Clone(n.original)
		n.changed()
	}
	f.types = f.source.InstanceTypes
	clear(f.below)
	f.serial = 0
}

// Remaining returns the nodes that can take pods: they are neither removed, nor leaving, nor vacant, nor
// in except.
func (f *Fleet) Remaining(except map[*Node]bool) []*Node {
	remaining := make([]*Node, 0, len(f.Nodes))
	for _, n := range f.Nodes {
		if !n.Removed && !except[n] && !n.Leaving && !n.Vacant {
			remaining = append(remaining, n)
		}
	}
	return remaining
}

// InFillOrder returns the Remaining nodes in the order in which pods fill them.
func (f *Fleet) InFillOrder(except map[*Node]bool) []*Node { return FillOrder(f.Remaining(except)) }

// FillOrder sorts the nodes in place for filling. Nodes that are no candidates come first. The
// candidates follow, those that use most of their price first. Launched nodes come last, because
// they are full.
func FillOrder(nodes []*Node) []*Node {
	used := make(map[*Node]float64, len(nodes))
	for _, n := range nodes {
		used[n] = n.PriceUsed()
	}
	slices.SortFunc(nodes, func(a, b *Node) int {
		return cmp.Or(
			falseFirst(a.Launched != nil, b.Launched != nil), falseFirst(a.Candidate, b.Candidate),
			-cmp.Compare(used[a], used[b]), strings.Compare(a.Name, b.Name),
		)
	})
	return nodes
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

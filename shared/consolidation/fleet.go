package consolidation

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// fleet is the cluster as it would be after the moves so far.
type fleet struct {
	s *Snapshot
	// cluster is the snapshot's, with nothing in its lists of pods and nodes, and with what moves have taken of reservations taken off.
	cluster *plan.Snapshot
	pools   map[string]*pool
	// nodes are those that stand, by name, and those that moves have launched, in their order. Removed ones stay in the list.
	nodes    []*node
	terms    *terms
	problems []Problem
	totals   map[*pool]poolTotals
	// cheap are the cluster's instance types up to a price: see typesBelow.
	cheap map[int]map[string][]catalog.InstanceType
	// large says that many nodes may go: see sweep.go.
	large bool
	// limited says that some pool has limits, which nodes count against until they are gone.
	limited bool
	// work counts what the planner was asked, so that a plan takes no longer on one machine than it takes work on another.
	work int
	// spared are nodes that may well go themselves: pods that move do not go there.
	spared map[*node]bool
	// closed are nodes that a move takes which is not made yet: no pod is moved to them that would have to move again.
	closed map[*node]bool
	// tried is what planning nodes anew has come to, by their names, since the last change.
	tried map[string][]*step
	// serial numbers what is launched.
	serial int
}

// pool is a NodePool with what its nodes can be.
type pool struct {
	api *api.NodePool
	settings
	types map[string]*catalog.InstanceType
	// problem is why its nodes stay; "" if they may go.
	problem string
}

// node is a node that stands, or one that a move launches.
type node struct {
	source *plan.Node
	name   string
	pool   *pool
	// price is US dollars an hour; zero if it is not known.
	price float64
	// pods are those that would come back elsewhere; fixed are the others, which take what they take: of DaemonSets, static, ending, and those that are on their way here.
	pods  []*pod
	fixed []*corev1.Pod
	// stood are the pods before any move.
	stood []*pod
	// fixedTies are the ties of the fixed ones.
	fixedTies []int
	// nominated are how many of the waiting pods have a place here.
	nominated int
	candidate bool
	because   Because
	message   string
	// removed says that a move takes the node away, launched which claim it is, for one that is not there yet.
	removed  bool
	launched *plan.PlannedNodeClaim
	// group is the step that the node belongs to, if one has touched it: see moves.go.
	group *group
	// goes says that it was on its way out before anything was moved; domains are its pool with its values of the labels that pods are counted by.
	goes    bool
	domains string
	// shown is the node as the planner gets it, room what is free on it; nil once its pods have changed. value is what they are worth; valued says that it is known.
	shown  *plan.Node
	room   amounts
	value  float64
	valued bool
}

// pod is a pod that would come back elsewhere.
type pod struct {
	object *corev1.Pod
	ref    plan.PodRef
	from   *node
	// cost is what its eviction costs, never less than zero; worth what it is worth in US dollars an hour.
	cost, worth float64
	// bound says that spread or affinity binds it to other pods, counted that others' spread or affinity may count it.
	bound, counted bool
	// ties are the numbers of the selectors that bind it to others, or others to it.
	ties  []int
	takes amounts
	shape int
}

func newFleet(s *Snapshot) *fleet {
	cluster := *s.Cluster
	cluster.Pods, cluster.Nodes = nil, nil
	f := &fleet{s: s, cluster: &cluster, pools: map[string]*pool{}, cheap: map[int]map[string][]catalog.InstanceType{}, tried: map[string][]*step{}}
	f.readPools()
	f.terms = readTerms(s.Cluster)
	nominated := f.placeWaiting()
	for i := range s.Cluster.Nodes {
		f.nodes = append(f.nodes, f.newNode(&s.Cluster.Nodes[i], nominated))
	}
	slices.SortFunc(f.nodes, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	j := f.newJudge()
	for _, n := range f.nodes {
		if n.source.NodeClaim != nil {
			j.look(n)
		}
	}
	f.totals = f.readTotals()
	return f
}

func (f *fleet) readPools() {
	for i := range f.s.Cluster.NodePools {
		p := &pool{api: &f.s.Cluster.NodePools[i], types: map[string]*catalog.InstanceType{}}
		var err error
		if p.settings, err = settingsOf(p.api); err != nil {
			p.problem = "its NodePool's " + err.Error()
			f.problems = append(f.problems, Problem{NodePool: p.api.Name, Message: err.Error()})
		}
		types := f.s.Cluster.InstanceTypes[p.api.Name]
		for j := range types {
			p.types[types[j].Name] = &types[j]
		}
		f.limited = f.limited || len(p.api.Spec.Limits) > 0
		f.pools[p.api.Name] = p
	}
	slices.SortFunc(f.problems, func(a, b Problem) int { return strings.Compare(a.NodePool, b.NodePool) })
}

// placeWaiting gives the waiting pods their places before anything moves: the room that they are going to take is not there for others. By the name of the
// node; those that need new nodes have them made by who launches for waiting pods.
func (f *fleet) placeWaiting() map[string][]*corev1.Pod {
	if len(f.s.Cluster.Pods) == 0 {
		return nil
	}
	waiting := map[string]*corev1.Pod{}
	for i := range f.s.Cluster.Pods {
		pod := &f.s.Cluster.Pods[i]
		waiting[pod.Namespace+"/"+pod.Name] = pod
	}
	places := map[string][]*corev1.Pod{}
	for _, nomination := range plan.Solve(f.s.Cluster).Nominations {
		name := cmp.Or(nomination.NodeName, nomination.NodeClaimName)
		places[name] = append(places[name], waiting[nomination.Pod.String()])
	}
	return places
}

func (f *fleet) newNode(source *plan.Node, nominated map[string][]*corev1.Pod) *node {
	n := &node{source: source}
	if source.Node != nil {
		n.name = source.Node.Name
	} else if source.NodeClaim != nil {
		n.name = source.NodeClaim.Name
	}
	n.pool = f.pools[n.label(api.NodePoolLabelKey)]
	n.goes, n.domains = n.leaving(), f.domainsOf(n)
	n.price = n.pool.priceOf(n)
	for _, object := range nominated[n.name] {
		n.fixed = append(n.fixed, object)
		n.nominated++
	}
	for i := range source.Pods {
		object := &source.Pods[i]
		switch {
		case scheduling.IsTerminal(object):
		case scheduling.IsReschedulable(object):
			n.pods = append(n.pods, f.newPod(object, n))
		default:
			n.fixed = append(n.fixed, object)
		}
	}
	for _, object := range n.fixed {
		n.fixedTies = append(n.fixedTies, f.terms.ties(object)...)
	}
	slices.SortFunc(n.pods, comparePods)
	n.stood = slices.Clone(n.pods)
	return n
}

func (f *fleet) newPod(object *corev1.Pod, from *node) *pod {
	p := &pod{
		object: object, from: from, ref: plan.PodRef{Namespace: object.Namespace, Name: object.Name, UID: string(object.UID)},
		cost: max(0, disruption.EvictionCost(object)),
	}
	p.bound, p.counted, p.shape = f.terms.read(object)
	if p.bound || p.counted {
		p.ties = f.terms.ties(object)
	}
	p.takes = f.terms.shapes[p.shape].takes
	return p
}

// label is the node's, or its claim's.
func (n *node) label(key string) string {
	if n.source.Node != nil {
		if value, ok := n.source.Node.Labels[key]; ok {
			return value
		}
	}
	if n.source.NodeClaim != nil {
		return n.source.NodeClaim.Labels[key]
	}
	return ""
}

// priceOf is what the node costs by the offering that it was bought through, whether or not there is more of it now; zero if that is not known.
func (p *pool) priceOf(n *node) float64 {
	if p == nil {
		return 0
	}
	typ := p.types[n.label(corev1.LabelInstanceTypeStable)]
	if typ == nil {
		return 0
	}
	zone, capacityType, reservation := n.label(corev1.LabelTopologyZone), n.label(api.CapacityTypeLabelKey), n.label(api.LabelCapacityReservationID)
	for i := range typ.Offerings {
		o := &typ.Offerings[i]
		if o.Zone == zone && o.CapacityType == capacityType && o.ReservationID == reservation && !o.Unpriced {
			return o.Price
		}
	}
	return 0
}

// disturbance is what evicting the node's pods costs, those aside that a move has brought here already: they are evicted once, wherever they go.
func (n *node) disturbance() float64 {
	sum := 0.0
	for _, pod := range n.pods {
		if pod.from == n {
			sum += pod.cost
		}
	}
	return sum
}

// worth is what the node's pods are worth in US dollars an hour.
func (n *node) worth() float64 {
	if !n.valued {
		n.value, n.valued = 0, true
		for _, pod := range n.pods {
			n.value += pod.worth
		}
	}
	return n.value
}

// changed forgets what is known of the node's pods.
func (n *node) changed() { n.shown, n.room, n.valued = nil, nil, false }

// use is how much of the node's price its pods are worth; of a node without a price nothing is wasted.
func (n *node) use() float64 {
	if n.price <= 0 {
		return 1
	}
	return n.worth() / n.price
}

// least is what taking the node away must save: what its pool asks of its price, or for its pods.
func (n *node) least() float64 {
	return max(n.pool.part*n.price, n.pool.perPod*n.disturbance())
}

// readWorth fills in what the candidates' pods are worth.
func (f *fleet) readWorth() {
	s := *f.cluster
	var pods []*pod
	for _, n := range f.nodes {
		pods = append(pods, n.pods...)
	}
	for _, pod := range pods {
		s.Pods = append(s.Pods, scheduling.Successor(pod.object))
	}
	for i, worth := range plan.Worth(&s) {
		pods[i].worth = worth
	}
	for _, n := range f.nodes {
		n.valued = false
	}
}

// inOrder are the nodes that can take pods in the order in which they are filled: those that stay whatever happens, then the best used. What moves have launched comes
// last, and is full.
func (f *fleet) inOrder(leaving map[*node]bool) []*node { return ordered(f.others(leaving)) }

// others are the nodes that can take pods, but for those that leave.
func (f *fleet) others(leaving map[*node]bool) []*node {
	others := make([]*node, 0, len(f.nodes))
	for _, n := range f.nodes {
		if !n.removed && !leaving[n] && !n.goes {
			others = append(others, n)
		}
	}
	return others
}

func ordered(others []*node) []*node {
	uses := make(map[*node]float64, len(others))
	for _, n := range others {
		uses[n] = n.use()
	}
	slices.SortFunc(others, func(a, b *node) int {
		return cmp.Or(compareBools(a.launched != nil, b.launched != nil), compareBools(a.candidate, b.candidate), -cmp.Compare(uses[a], uses[b]), strings.Compare(a.name, b.name))
	})
	return others
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

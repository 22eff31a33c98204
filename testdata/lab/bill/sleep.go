package bill

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

const (
	// boots is how long a node takes from its launch until its pods run.
	boots = 2 * time.Minute
	// patience is how long a pod may wait whose pool is awake: until the next tick, and for a node.
	patience = boots + time.Minute
)

// Sleep is what a month costs whose pools sleep.
type Sleep struct {
	// Paid is the bill in dollars, Awake that of the same pools without their sleep, and ByWindows the part of Awake
	// outside of the windows.
	Paid, Awake, ByWindows float64
	// Late counts pods that waited too long for a pool that should have been awake, each once a minute. First is
	// one of them.
	Late  int
	First string
	// Slept are the minutes in which pools slept, and Stayed those of nodes in pools that slept.
	Slept, Stayed int
}

// sleeping are the pools of the month: one for people at work in Berlin, one for a nightly batch by cron, and one
// that never sleeps.
func sleeping() []api.NodePool {
	capacity := []string{api.CapacityTypeOnDemand}
	always, office, night := consolidationtest.Pool("always", capacity...), consolidationtest.Pool("office", capacity...),
		consolidationtest.Pool("night", capacity...)
	office.Annotations = map[string]string{
		api.SleepAnnotationKey:    "Sun-Fri 20:00-07:00; Sat,Sun",
		api.TimeZoneAnnotationKey: "Europe/Berlin",
	}
	night.Annotations = map[string]string{
		api.SleepAnnotationKey: "0 6 * * * for 16h", api.TimeZoneAnnotationKey: "America/New_York",
	}
	return []api.NodePool{always, office, night}
}

// sleepLoads are the loads of each pool. Their pods exist at all hours.
func sleepLoads() map[string][]load {
	return map[string][]load{
		"always": {{name: "site", cpu: 500, memory: 1 << 30, base: 12, swing: 6, peak: 14, batch: -1}},
		"office": {
			{name: "desk", cpu: 1000, memory: 4 << 30, base: 20, swing: 8, peak: 11, batch: -1},
			{name: "build", cpu: 2000, memory: 4 << 30, base: 6, batch: -1},
		},
		"night": {{name: "report", cpu: 2000, memory: 8 << 30, base: 10, batch: -1}},
	}
}

// sleeper lives through the month minute by minute.
type sleeper struct {
	*month
	pools   []api.NodePool
	loads   map[string][]load
	nodes   []plan.Node
	ready   map[string]time.Time // by node
	waiting []corev1.Pod
	number  int
	asleep  map[string]bool
	planned bool // whether the pods that wait have been planned for since anything changed
}

// SleepMonth lives through so many days, the first of which begins at a time.
func SleepMonth(t testing.TB, begin time.Time, days int) (Sleep, error) {
	m := &month{
		begin: begin, known: known(t), class: catalogtest.NodeClass("default"),
		onDemand: map[string]float64{},
	}
	m.priced = m.types(nil)
	for _, typ := range m.priced {
		m.onDemand[typ.Name] = typ.OnDemandPrice
	}
	made := func(pools []api.NodePool) *sleeper {
		return &sleeper{month: m, pools: pools, loads: sleepLoads(), ready: map[string]time.Time{}}
	}
	sleeps, stays := made(sleeping()), made(sleeping())
	for i := range stays.pools {
		stays.pools[i].Annotations = nil
	}
	var r Sleep
	for minute := range days * 24 * 60 {
		now := m.begin.Add(time.Duration(minute) * time.Minute)
		for _, s := range []*sleeper{sleeps, stays} {
			if err := s.live(now); err != nil {
				return r, fmt.Errorf("%s: %w", now.Format(time.DateTime), err)
			}
		}
		sleeps.judge(&r, stays, now)
	}
	return r, nil
}

// judge counts what the minute costs, and the pods that wait in vain.
func (s *sleeper) judge(r *Sleep, stays *sleeper, now time.Time) {
	paid, awake := s.prices(), stays.prices()
	for i := range s.pools {
		name, rest := s.pools[i].Name, s.pools[i].Rest(now)
		r.Paid, r.Awake = r.Paid+paid[name]/60, r.Awake+awake[name]/60
		if !rest.Asleep {
			r.ByWindows += awake[name] / 60
			continue
		}
		r.Slept++
		if paid[name] > 0 {
			r.Stayed++
		}
	}
	late := func(pod *corev1.Pod) {
		wanted := pod.Spec.NodeSelector[api.NodePoolLabelKey]
		rest := s.pools[slices.IndexFunc(s.pools, func(p api.NodePool) bool { return p.Name == wanted })].Rest(now)
		if rest.Asleep || rest.Waking || now.Sub(pod.CreationTimestamp.Time) <= patience {
			return
		}
		if r.Late++; r.First == "" {
			r.First = fmt.Sprintf("%s at %s", pod.Name, now.Format(time.DateTime))
		}
	}
	for i := range s.waiting {
		late(&s.waiting[i])
	}
	for i := range s.nodes {
		for j := range s.nodes[i].Pods {
			if now.Before(s.ready[s.nodes[i].Node.Name]) {
				late(&s.nodes[i].Pods[j])
			}
		}
	}
}

// prices are what the nodes of each pool cost in an hour.
func (s *sleeper) prices() map[string]float64 {
	sum := map[string]float64{}
	for i := range s.nodes {
		labels := s.nodes[i].NodeClaim.Labels
		sum[labels[api.NodePoolLabelKey]] += s.onDemand[labels[corev1.LabelInstanceTypeStable]]
	}
	return sum
}

// live is one minute: pods come and go, nodes of pools that sleep end, and nodes are bought for pods that wait. Once
// an hour consolidation moves.
func (s *sleeper) live(now time.Time) error {
	if now.Minute() == 0 {
		s.follow(now)
	}
	asleep := map[string]bool{}
	for i := range s.pools {
		asleep[s.pools[i].Name] = s.pools[i].Rest(now).Asleep
	}
	if !maps.Equal(asleep, s.asleep) {
		s.asleep, s.planned = asleep, false
	}
	if err := s.rest(now); err != nil {
		return err
	}
	if len(s.waiting) > 0 && !s.planned {
		if err := s.provision(now); err != nil {
			return err
		}
	}
	if now.Minute() == 30 {
		return s.consolidate(now)
	}
	return nil
}

// objects are those of the cluster, as the API server has them.
func (s *sleeper) objects() *snapshot.Objects {
	o := &snapshot.Objects{
		NodePools: slices.Clone(s.pools), NodeClasses: []api.EC2NodeClass{*s.class}, Pods: slices.Clone(s.waiting),
		Namespaces: []corev1.Namespace{{}},
	}
	for i := range s.nodes {
		o.Nodes, o.NodeClaims = append(o.Nodes, *s.nodes[i].Node), append(o.NodeClaims, *s.nodes[i].NodeClaim)
		o.Pods = append(o.Pods, s.nodes[i].Pods...)
	}
	return o
}

// follow creates and deletes pods. Of a load that shrinks, pods that wait go first.
func (s *sleeper) follow(now time.Time) {
	hour := int(now.Sub(s.begin) / time.Hour)
	for _, pool := range slices.Sorted(maps.Keys(s.loads)) {
		for i := range s.loads[pool] {
			l := &s.loads[pool][i]
			have := 0
			s.each(l.name, func() bool { have++; return false })
			for ; have < l.count(hour); have++ {
				s.create(l.name, pool, l.cpu, l.memory, now)
			}
			s.each(l.name, func() bool { have--; return have >= l.count(hour) })
		}
	}
}

// each calls end for each pod of the app, those that wait first, and deletes those for which it returns true.
func (s *sleeper) each(app string, end func() bool) {
	ends := func(pod corev1.Pod) bool { return pod.Labels["app"] == app && end() }
	s.waiting = slices.DeleteFunc(s.waiting, ends)
	for i := range s.nodes {
		s.nodes[i].Pods = slices.DeleteFunc(s.nodes[i].Pods, ends)
	}
}

func (s *sleeper) create(app, pool string, cpu, memory int64, now time.Time) {
	s.number++
	pod := consolidationtest.Pod(fmt.Sprintf("%s-%06d", app, s.number), cpu, memory, app)
	pod.CreationTimestamp = metav1.NewTime(now)
	pod.Spec.NodeSelector = map[string]string{api.NodePoolLabelKey: pool}
	wait(&pod)
	s.waiting, s.planned = append(s.waiting, pod), false
}

// rest ends nodes of pools that sleep, as disrupt does. Their pods' controllers make others.
func (s *sleeper) rest(now time.Time) error {
	if !slices.ContainsFunc(s.nodes, func(n plan.Node) bool { return s.asleep[n.Pool()] }) {
		return nil
	}
	seen, err := snapshot.Disruption(s.objects(), nil)
	if err != nil {
		return err
	}
	candidates, _ := disruption.Candidates(seen, now)
	ending, others := disruption.Asleep(candidates)
	if len(others) > 0 {
		return fmt.Errorf("node %s is to go because of %s", others[0].Node.Claim.Name, others[0].Reason)
	}
	for i := range ending {
		at := slices.IndexFunc(s.nodes, func(n plan.Node) bool { return n.NodeClaim.Name == ending[i].Node.Claim.Name })
		pods := s.nodes[at].Pods
		s.nodes = slices.Delete(s.nodes, at, at+1)
		for j := range pods {
			requests := pods[j].Spec.Containers[0].Resources.Requests
			s.create(pods[j].Labels["app"], pods[j].Spec.NodeSelector[api.NodePoolLabelKey],
				requests.Cpu().MilliValue(), requests.Memory().Value(), now)
		}
	}
	return nil
}

// provision buys nodes for the pods whose pool is awake. They are bound at once, and run when their node is ready.
func (s *sleeper) provision(now time.Time) error {
	o := s.objects()
	offer := snapshot.NewOffer(o, s.known, catalog.Observed{}, now)
	made := offer.Assemble(o, now)
	p := planning.Solve(made)
	s.planned = true
	to := map[string]int{}
	at := map[string]int{}
	for i := range s.nodes {
		at[s.nodes[i].Node.Name] = i
	}
	for _, nomination := range p.Nominations {
		to[nomination.Pod.Name] = at[nomination.NodeName]
	}
	for i := range p.NodeClaims {
		pool := p.NodeClaims[i].NodeClaim.Labels[api.NodePoolLabelKey]
		s.number++
		node, err := launch(made.InstanceTypes[pool], &p.NodeClaims[i], fmt.Sprintf("node-%06d", s.number), now)
		if err != nil {
			return err
		}
		s.ready[node.Node.Name] = now.Add(boots)
		s.nodes = append(s.nodes, node)
		for _, ref := range p.NodeClaims[i].Pods {
			to[ref.Name] = len(s.nodes) - 1
		}
	}
	var left []corev1.Pod
	for i := range s.waiting {
		pod := s.waiting[i]
		node, placed := to[pod.Name]
		if !placed {
			left = append(left, pod)
			continue
		}
		consolidationtest.Bind(&pod, s.nodes[node].Node.Name, now)
		s.nodes[node].Pods = append(slices.Clip(s.nodes[node].Pods), pod)
	}
	s.waiting = left
	return nil
}

// consolidate carries out the moves that consolidation finds, within a budget of a tenth.
func (s *sleeper) consolidate(now time.Time) error {
	for range rounds {
		o := s.objects()
		o.ShieldAsleep(now)
		o.Pods = slices.DeleteFunc(o.Pods, func(pod corev1.Pod) bool { return pod.Spec.NodeName == "" })
		made := snapshot.NewOffer(o, s.known, catalog.Observed{}, now).Assemble(o, now)
		allowed := map[string]consolidation.Allowance{}
		for i := range made.NodePools {
			allowed[made.NodePools[i].Name] = consolidation.Allowance{
				Empty: len(made.Nodes), Underutilized: max(1, len(made.Nodes)/10),
			}
		}
		moves := consolidation.Solve(&consolidation.Input{Cluster: made, Now: now, Allowed: allowed}).Moves
		if len(moves) == 0 {
			return nil
		}
		for i := range moves {
			s.number++
			name := fmt.Sprintf("moved-%d", s.number)
			made.Nodes = consolidationtest.CarryOut(made, &moves[i], name, now.Add(-time.Hour)).Nodes
		}
		s.nodes = made.Nodes
	}
	return fmt.Errorf("nodes move without end: %d rounds find no rest", rounds)
}

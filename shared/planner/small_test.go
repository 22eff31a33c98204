package planner_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
)

// smallPlan is a random cluster of up to 100 waiting pods of a few shapes, for a comparison with
// the cheapest plan. Problem says all that a solver needs to find that one.
type smallPlan struct {
	snapshot *plan.Snapshot
	shapes   []podShape
	daemons  corev1.ResourceList
	// seed, plan and took are filled in by solve.
	seed uint64
	plan *plan.Plan
	took time.Duration
}

// podShape are equal pods, with the labels of nodes that they ask for.
type podShape struct {
	cpu, memory int64
	count       int
	wants       map[string]string
	// most is how many of them a node takes; zero for any number.
	most int
}

// smallProblem is what the solver reads. Amounts are milli-cpus, bytes and pods.
type smallProblem struct {
	Shapes []smallShape `json:"shapes"`
	Nodes  []smallNode  `json:"nodes"`
	// Limits are those of all NodePools, one after the other.
	Limits []int64 `json:"limits"`
	// Price is that of the plan. Dearer nodes are of no interest.
	Price float64 `json:"price"`
}

type smallShape struct {
	Need  [3]int64 `json:"need"`
	Count int      `json:"count"`
	Most  int      `json:"most"`
}

type smallNode struct {
	Free  [3]int64 `json:"free"`
	Price float64  `json:"price"`
	// Holds are the positions of the shapes that the node may have.
	Holds []int `json:"holds"`
	// Limit is the position of its NodePool's limit, or -1, and Cores what the node takes of it.
	Limit int   `json:"limit"`
	Cores int64 `json:"cores"`
}

var smallZones = []string{"us-east-1a", "us-east-1b", "us-east-1c"}

// newSmallPlan makes the cluster of a seed. types are those of the catalogue.
func newSmallPlan(types []catalog.InstanceType, class *api.EC2NodeClass, seed uint64) *smallPlan {
	random := rand.New(rand.NewPCG(seed, 0x736d616c6c))
	chance := func(percent int) bool { return random.IntN(100) < percent }
	p := &smallPlan{snapshot: &plan.Snapshot{
		NodeClasses: []api.EC2NodeClass{*class}, InstanceTypes: map[string][]catalog.InstanceType{},
	}}
	extras := []float64{0.0022, 0.0072, 0.0322}[random.IntN(3)]
	capacityTypes := [][]string{
		{api.CapacityTypeSpot, api.CapacityTypeOnDemand}, {api.CapacityTypeSpot}, {api.CapacityTypeOnDemand},
	}[random.IntN(3)]
	architectures := [][]string{{api.ArchitectureAmd64, api.ArchitectureArm64}, {api.ArchitectureAmd64}}[random.IntN(2)]
	both := len(architectures) == 2 && chance(40)
	for i, architecture := range architectures {
		changes := []func(*api.NodePool){require(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, capacityTypes...)}
		if chance(70) {
			changes = append(changes,
				require(api.LabelInstanceCategory, corev1.NodeSelectorOpIn, "c", "m", "r"),
				require(api.LabelInstanceGeneration, corev1.NodeSelectorOpGt, "4"))
		}
		if both {
			changes = append(changes, require(corev1.LabelArchStable, corev1.NodeSelectorOpIn, architecture))
		} else {
			changes = append(changes, require(corev1.LabelArchStable, corev1.NodeSelectorOpIn, architectures...))
		}
		name := fmt.Sprintf("pool-%d", i)
		p.snapshot.NodePools = append(p.snapshot.NodePools, newPool(name, changes...))
		p.snapshot.InstanceTypes[name] = catalog.WithExtras(types, extras)
		if !both {
			break
		}
	}
	p.addDaemonSet(random)
	p.addPods(random, slices.Contains(capacityTypes, api.CapacityTypeOnDemand))
	p.addLimits(random)
	return p
}

// addDaemonSet adds what each node runs anyway.
func (p *smallPlan) addDaemonSet(random *rand.Rand) {
	var daemon appsv1.DaemonSet
	daemon.Name, daemon.Namespace = "agent", metav1.NamespaceSystem
	daemon.Spec.Template.Spec = newPod("agent", "150m", fmt.Sprintf("%dMi", 64*random.IntN(5))).Spec
	p.daemons = daemon.Spec.Template.Spec.Containers[0].Resources.Requests
	p.snapshot.DaemonSets = []appsv1.DaemonSet{daemon}
}

// addPods adds 1 to 100 pods of 1 to 8 shapes, small numbers being as frequent as great ones.
func (p *smallPlan) addPods(random *rand.Rand, onDemand bool) {
	chance := func(percent int) bool { return random.IntN(100) < percent }
	pods := int(math.Round(math.Pow(100, random.Float64())))
	shapes := min(1+random.IntN(8), pods)
	for i := range shapes {
		s := podShape{count: 1, wants: map[string]string{}}
		s.cpu = int64(math.Round(50*math.Pow(80, random.Float64())/10)) * 10
		s.memory = int64(float64(s.cpu)*0.5*math.Pow(16, random.Float64())*1.024) << 20
		if i == shapes-1 {
			s.count = pods - (shapes - 1)
		} else if most := pods - (shapes - 1); most > 1 {
			s.count = 1 + random.IntN(min(most, 2*pods/shapes))
		}
		pods -= s.count - 1
		if chance(20) {
			s.wants[corev1.LabelTopologyZone] = smallZones[random.IntN(len(smallZones))]
		}
		if chance(10) {
			s.wants[corev1.LabelArchStable] = api.ArchitectureAmd64
		}
		if onDemand && chance(10) {
			s.wants[api.CapacityTypeLabelKey] = api.CapacityTypeOnDemand
		}
		if s.count <= 12 && chance(10) {
			s.most = 1 + random.IntN(2)
		}
		p.shapes = append(p.shapes, s)
		p.snapshot.Pods = append(p.snapshot.Pods, s.pods(i)...)
	}
}

// pods are the pods of the shape.
func (s *podShape) pods(shape int) []corev1.Pod {
	var pods []corev1.Pod
	for n := range s.count {
		pod := newPod(fmt.Sprintf("shape-%d-%03d", shape, n), fmt.Sprintf("%dm", s.cpu), fmt.Sprint(s.memory))
		pod.Labels["shape"] = fmt.Sprint(shape)
		pod.Spec.NodeSelector = s.wants
		same := &metav1.LabelSelector{MatchLabels: pod.Labels}
		switch s.most {
		case 1:
			pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
					{TopologyKey: corev1.LabelHostname, LabelSelector: same},
				},
			}}
		case 2:
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				TopologyKey: corev1.LabelHostname, MaxSkew: 2, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: same,
			}}
		}
		pods = append(pods, pod)
	}
	return pods
}

// addLimits limits the cores of some NodePools: generously, or to little more than the pods ask
// for.
func (p *smallPlan) addLimits(random *rand.Rand) {
	switch random.IntN(4) {
	case 0:
		for i := range p.snapshot.NodePools {
			limitCPU("500")(&p.snapshot.NodePools[i])
		}
	case 1:
		cores := int64(2)
		for _, shape := range p.shapes {
			cores += (shape.cpu*int64(shape.count)*int64(110+random.IntN(100))/100 + 999) / 1000
		}
		for i := range p.snapshot.NodePools {
			limitCPU(fmt.Sprint(cores))(&p.snapshot.NodePools[i])
		}
	}
}

// problem is the plan as the solver reads it.
func (p *smallPlan) problem() *smallProblem {
	problem := &smallProblem{}
	for _, s := range p.shapes {
		problem.Shapes = append(problem.Shapes,
			smallShape{Need: [3]int64{s.cpu, s.memory, 1}, Count: s.count, Most: s.most})
	}
	for i := range p.snapshot.NodePools {
		pool, limit := &p.snapshot.NodePools[i], -1
		if most, ok := pool.Spec.Limits[corev1.ResourceCPU]; ok {
			limit = len(problem.Limits)
			problem.Limits = append(problem.Limits, most.Value())
		}
		types := p.snapshot.InstanceTypes[pool.Name]
		for j := range types {
			problem.add(p, pool, &types[j], limit)
		}
	}
	return problem
}

// add adds the nodes of an instance type.
func (problem *smallProblem) add(p *smallPlan, pool *api.NodePool, typ *catalog.InstanceType, limit int) {
	if typ.Exotic {
		return // No shape needs one.
	}
	free := [3]int64{
		typ.Allocatable.Cpu().MilliValue() - p.daemons.Cpu().MilliValue(),
		typ.Allocatable.Memory().Value() - p.daemons.Memory().Value(),
		typ.Allocatable.Pods().Value() - 1,
	}
	if slices.Min(free[:]) < 0 {
		return
	}
	for i := range typ.Offerings {
		offering := &typ.Offerings[i]
		has := func(key, value string) bool {
			switch key {
			case corev1.LabelTopologyZone:
				return offering.Zone == value
			case api.CapacityTypeLabelKey:
				return offering.CapacityType == value
			}
			return typ.Requirements[key].Has(value)
		}
		if !offering.Available || !inPool(pool, has) {
			continue
		}
		node := smallNode{Free: free, Price: offering.Price, Limit: limit, Cores: typ.Capacity.Cpu().Value()}
		for at, s := range p.shapes {
			if s.cpu <= free[0] && s.memory <= free[1] && free[2] >= 1 && hasAll(s.wants, has) {
				node.Holds = append(node.Holds, at)
			}
		}
		if len(node.Holds) > 0 {
			problem.Nodes = append(problem.Nodes, node)
		}
	}
}

func hasAll(wants map[string]string, has func(key, value string) bool) bool {
	for key, value := range wants {
		if !has(key, value) {
			return false
		}
	}
	return true
}

// inPool reports whether a node with these labels meets the requirements of the NodePool.
func inPool(pool *api.NodePool, has func(key, value string) bool) bool {
	for _, r := range pool.Spec.Template.Spec.Requirements {
		values := r.Values
		if r.Operator == corev1.NodeSelectorOpGt {
			values = nil
			for generation := 5; generation < 20; generation++ {
				values = append(values, fmt.Sprint(generation))
			}
		}
		if !slices.ContainsFunc(values, func(value string) bool { return has(r.Key, value) }) {
			return false
		}
	}
	return true
}

const (
	// smallVariable is how many small plans a solver judges, and judgeVariable the command that
	// starts it.
	smallVariable, judgeVariable = "SMALL_PLANS", "JUDGE"
	// smallOptima has the prices of the cheapest nodes for the first plans, by seed, as the solver
	// proved them.
	smallOptima = "testdata/optima.txt"
	// mostAboveOptimum is the ratio of a plan's price to that of the cheapest nodes that one plan
	// in a hundred may exceed; no plan may exceed mostOfAll.
	mostAboveOptimum, mostOfAll = 1.01, 1.03
	// rounding is the part of a price that sums of the same prices may differ by.
	rounding = 2e-6
)

// TestSmallPlans compares plans with the cheapest nodes for their pods, which a solver found.
func TestSmallPlans(t *testing.T) {
	text, err := os.ReadFile(smallOptima)
	if err != nil {
		t.Fatal(err)
	}
	class := catalogtest.NodeClass("default")
	types := catalog.Resolve(catalogtest.Catalog(t), class, catalog.Observed{}, catalogtest.Now)
	result := &smallResult{}
	for line := range strings.Lines(string(text)) {
		var seed uint64
		var optimum float64
		if _, err := fmt.Sscan(line, &seed, &optimum); err != nil {
			t.Fatal(err)
		}
		if p := newSmallPlan(types, class, seed); p.solve(t, seed) {
			result.add(t, p, verdict{Optimum: optimum, Proven: true})
		}
	}
	result.check(t)
}

// TestSmallPlansAgainstASolver lets a solver find the cheapest nodes for the number of plans in
// SMALL_PLANS. With -update it writes the optima that it proves. See testdata/exact.
func TestSmallPlansAgainstASolver(t *testing.T) {
	if os.Getenv(smallVariable) == "" {
		t.Skipf("%s is how many plans a solver judges: make optimum", smallVariable)
	}
	count, err := strconv.ParseUint(os.Getenv(smallVariable), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	class := catalogtest.NodeClass("default")
	types := catalog.Resolve(catalogtest.Catalog(t), class, catalog.Observed{}, catalogtest.Now)
	result := &smallResult{}
	var optima strings.Builder
	var mu sync.Mutex
	t.Run("plans", func(t *testing.T) {
		for part := range uint64(judges) {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				solver := startJudge(t)
				for seed := part; seed < count; seed += judges {
					p := newSmallPlan(types, class, seed)
					if !p.solve(t, seed) {
						continue
					}
					v := solver.judge(t, p)
					mu.Lock()
					result.add(t, p, v)
					mu.Unlock()
				}
			})
		}
	})
	result.check(t)
	slices.SortFunc(result.judged, func(a, b judged) int { return cmp.Compare(a.seed, b.seed) })
	for _, j := range result.judged {
		if j.Proven {
			fmt.Fprintf(&optima, "%d %.9f\n", j.seed, j.Optimum)
		}
	}
	if *update {
		if err := os.WriteFile(smallOptima, []byte(optima.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// solve plans the cluster, and reports whether all pods have a place.
func (p *smallPlan) solve(t *testing.T, seed uint64) bool {
	t.Helper()
	before := processorTime()
	p.seed, p.plan = seed, planner.Solve(p.snapshot)
	p.took = time.Duration(processorTime() - before)
	for _, fault := range plantest.Check(p.snapshot, p.plan) {
		t.Errorf("seed %d: %s", seed, fault)
	}
	return len(p.plan.Unplaced) == 0
}

// verdict is what the solver says: the price of the cheapest nodes, or a lower bound if it has not
// proven that.
type verdict struct {
	Optimum float64 `json:"optimum"`
	Proven  bool    `json:"proven"`
}

// judged is a plan with its verdict.
type judged struct {
	verdict
	seed         uint64
	price, bound float64
	took         time.Duration
}

// smallResult are all judged plans.
type smallResult struct{ judged []judged }

// add adds a plan. A plan cannot be cheaper than the cheapest nodes, and its bound neither above
// them.
func (r *smallResult) add(t *testing.T, p *smallPlan, v verdict) {
	t.Helper()
	j := judged{v, p.seed, p.plan.PricePerHour, p.plan.LowerBoundPerHour, p.took}
	if j.price < j.Optimum*(1-rounding) {
		t.Errorf("seed %d: the plan costs $%.6f/h, and the solver says that nodes cost $%.6f/h", j.seed, j.price, j.Optimum)
	}
	if v.Proven && j.bound > j.Optimum*(1+rounding) {
		t.Errorf("seed %d: the bound is $%.6f/h, and the cheapest nodes cost $%.6f/h", j.seed, j.bound, j.Optimum)
	}
	r.judged = append(r.judged, j)
}

// ratio is the plan's price to that of the cheapest nodes. Where the solver has not proven these,
// it is to the greater of its lower bound and the plan's.
func (j *judged) ratio() float64 {
	if j.Proven {
		return j.price / j.Optimum
	}
	return j.price / max(j.Optimum, j.bound)
}

// check prints how close the plans are to the cheapest nodes, and fails if too many are not.
func (r *smallResult) check(t *testing.T) {
	t.Helper()
	plans, above, proven, optimal, greatest := len(r.judged), 0, 0, 0, 1.0
	var times []time.Duration
	for i := range r.judged {
		j := &r.judged[i]
		if greatest = max(greatest, j.ratio()); j.ratio() > mostAboveOptimum {
			above++
			t.Logf("seed %d: $%.6f/h are %.4f of $%.6f/h (proven: %v)", j.seed, j.price, j.ratio(), j.Optimum, j.Proven)
		}
		if j.Proven {
			proven++
		}
		if j.price <= j.bound*(1+rounding) {
			optimal++
		}
		times = append(times, j.took)
	}
	if plans == 0 {
		t.Fatal("no plan was judged")
	}
	slices.Sort(times)
	t.Logf("%d plans, %d above %.2f of the optimum, at most %.4f; %d proven by the solver, %d optimal by the planner; "+
		"processor time of a plan: median %s, 99 of 100 %s, at most %s", plans, above, mostAboveOptimum, greatest, proven,
		optimal, times[plans/2].Round(time.Millisecond/10), times[plans*99/100].Round(time.Millisecond/10),
		times[plans-1].Round(time.Millisecond/10))
	if above*100 > plans || greatest > mostOfAll {
		t.Errorf("%d of %d plans exceed %.2f of the optimum, and one reaches %.4f", above, plans, mostAboveOptimum, greatest)
	}
}

// judges is how many solvers run at once.
const judges = 2

// solver is a running solver, which answers each line with a line.
type solver struct {
	in  io.Writer
	out *bufio.Scanner
}

func startJudge(t *testing.T) *solver {
	t.Helper()
	command := os.Getenv(judgeVariable)
	if command == "" {
		t.Fatalf("%s is empty. It is the command of the solver: make optimum", judgeVariable)
	}
	fields := strings.Fields(command)
	program := exec.CommandContext(context.WithoutCancel(t.Context()), fields[0], fields[1:]...)
	program.Stderr = os.Stderr
	in, err := program.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := program.Wait(); err != nil {
			t.Errorf("the solver: %v", err)
		}
	})
	return &solver{in: in, out: bufio.NewScanner(out)}
}

// judge asks the solver for the cheapest nodes.
func (s *solver) judge(t *testing.T, p *smallPlan) verdict {
	t.Helper()
	problem := p.problem()
	problem.Price = p.plan.PricePerHour
	if err := json.NewEncoder(s.in).Encode(problem); err != nil {
		t.Fatal(err)
	}
	var v verdict
	if !s.out.Scan() {
		t.Fatal("the solver has ended")
	}
	if err := json.Unmarshal(s.out.Bytes(), &v); err != nil {
		t.Fatalf("the solver says %s: %v", s.out.Bytes(), err)
	}
	return v
}

package gang_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/gang"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
)

const (
	// gangsVariable is how many gangs are planned, in place of everyDay.
	gangsVariable = "GANGS"
	everyDay      = 100
	// mostAboveOptimum is the greatest ratio of all prices to those of the cheapest plans.
	mostAboveOptimum = 1.05
)

// short are instance types of which EC2 lacks a random 70 % of the offerings.
func short(random *rand.Rand) []catalog.InstanceType {
	var types []catalog.InstanceType
	for _, cores := range []int64{2, 4, 8, 16, 32} {
		for _, shape := range []int64{2, 4, 8} {
			price := float64(cores) * (0.03 + 0.005*float64(shape))
			types = append(types, stagetest.OnSpot(
				stagetest.Type(fmt.Sprintf("ratio-%d.%d", shape, cores), cores, cores*shape, price, zoneA, zoneB, zoneC),
				price*(0.3+0.3*random.Float64())))
		}
	}
	return types
}

// oneGang is a gang of 2 to 24 pods, of one size or of two. Some need one zone, and some name it.
func oneGang(random *rand.Rand) (*plan.Snapshot, int) {
	types := short(random)
	for i := range types {
		for j := range types[i].Offerings {
			types[i].Offerings[j].Available = random.Float64() < 0.3
		}
	}
	var change []func(*corev1.Pod)
	switch random.IntN(3) {
	case 0:
		change = append(change, together("a", corev1.LabelTopologyZone))
	case 1:
		change = append(change, of("a", 0), stagetest.InZone(zoneB))
	default:
		change = append(change, of("a", 0))
	}
	size := func() (string, string) {
		cores := 200 + random.IntN(12)*600
		return fmt.Sprintf("%dm", cores), fmt.Sprintf("%dMi", cores*(1+random.IntN(6)))
	}
	count := 2 + random.IntN(12)
	cpu, memory := size()
	pods := stagetest.Pods(count, "worker", cpu, memory, change...)
	if random.IntN(2) == 0 {
		cpu, memory := size()
		leaders := 1 + random.IntN(12)
		pods, count = append(pods, stagetest.Pods(leaders, "leader", cpu, memory, change...)...), count+leaders
	}
	s := stagetest.Snapshot(types, pods...)
	if random.IntN(4) == 0 {
		s.NodePools[0].Spec.Limits = api.Limits{corev1.ResourceCPU: resource.MustParse(fmt.Sprint(4 + random.IntN(60)))}
	}
	s.Gangs = []plan.Gang{needs("a", count)}
	return s, count
}

// TestRandomGangs plans gangs on an EC2 that lacks most of its offerings. Package plantest checks
// that Kubernetes can bind what is planned.
func TestRandomGangs(t *testing.T) {
	gangs := int(plantest.Seeds(everyDay))
	if asked := os.Getenv(gangsVariable); asked != "" {
		var err error
		if gangs, err = strconv.Atoi(asked); err != nil {
			t.Fatal(err)
		}
	}
	price, optimum, whole := 0.0, 0.0, 0
	for seed := range gangs {
		s, count := oneGang(rand.New(rand.NewPCG(uint64(seed), 21)))
		decided := gang.Whole(planner.Solve)(s)
		if left := len(decided.Unplaced); left != 0 && left != count {
			t.Errorf("seed %d: %d of %d pods have no place", seed, left, count)
			continue
		}
		if len(decided.Unplaced) > 0 {
			if len(decided.NodeClaims) > 0 {
				t.Errorf("seed %d: %d nodes for a gang without a place", seed, len(decided.NodeClaims))
			}
			continue
		}
		whole++
		if s.NodePools[0].Spec.Limits == nil {
			price, optimum = price+decided.PricePerHour, optimum+cheapest(s)
		}
		if wrong := plantest.Check(s, decided); len(wrong) > 0 {
			t.Errorf("seed %d: %s", seed, wrong[0])
		}
		if api.RequiredTopology(s.Pods[0].Annotations) != "" {
			if zones := zonesOf(decided); len(zones) != 1 {
				t.Errorf("seed %d: the gang comes to %v, want one zone", seed, zones)
			}
		}
	}
	t.Logf("%d gangs: %d have a place, at %.3f of the cheapest plan", gangs, whole, price/optimum)
	if price > mostAboveOptimum*optimum || whole < gangs/2 {
		t.Errorf("%d of %d gangs have a place, at $%.2f/h where $%.2f/h is the least", whole, gangs, price, optimum)
	}
}

// cheapest is the price of the cheapest plan for the gang, by a search of all plans: in each zone
// where all nodes have to be in one, and otherwise in all zones together.
func cheapest(s *plan.Snapshot) float64 {
	zones := [][]string{{zoneA, zoneB, zoneC}}
	if api.RequiredTopology(s.Pods[0].Annotations) != "" {
		zones = [][]string{{zoneA}, {zoneB}, {zoneC}}
	} else if zone := s.Pods[0].Spec.NodeSelector[corev1.LabelTopologyZone]; zone != "" {
		zones = [][]string{{zone}}
	}
	best := math.Inf(1)
	for _, in := range zones {
		best = min(best, cheapestIn(s, in))
	}
	return best
}

// cheapestIn fills a table: the least price of nodes for so many workers and so many leaders.
func cheapestIn(s *plan.Snapshot, zones []string) float64 {
	counts, sizes := map[string]int{}, map[string]corev1.ResourceList{}
	for i := range s.Pods {
		name, _, _ := strings.Cut(s.Pods[i].Name, "-")
		counts[name]++
		sizes[name] = s.Pods[i].Spec.Containers[0].Resources.Requests
	}
	workers, leaders := counts["worker"], counts["leader"]
	table := make([][]float64, workers+1)
	for w := range table {
		table[w] = make([]float64, leaders+1)
		for l := range table[w] {
			if table[w][l] = math.Inf(1); w+l == 0 {
				table[w][l] = 0
			}
		}
	}
	nodes := nodesIn(s, zones)
	for w := range table {
		for l := range table[w] {
			for _, node := range nodes {
				// The fullest nodes are enough: for each number of workers, as many leaders as fit.
				for on := 0; on <= w; on++ {
					others := node.room(on, sizes["worker"], sizes["leader"])
					if others < 0 {
						break
					}
					if others = min(others, l); on+others > 0 {
						table[w][l] = min(table[w][l], table[w-on][l-others]+node.price)
					}
				}
			}
		}
	}
	return table[workers][leaders]
}

// node is an instance type at its cheapest offering.
type node struct {
	has   corev1.ResourceList
	price float64
}

// nodesIn are the types that can be bought in the zones.
func nodesIn(s *plan.Snapshot, zones []string) []node {
	var nodes []node
	types := s.InstanceTypes[s.NodePools[0].Name]
	for i := range types {
		price := math.Inf(1)
		for _, offering := range types[i].Offerings {
			if offering.Available && slices.Contains(zones, offering.Zone) {
				price = min(price, offering.Price)
			}
		}
		if !math.IsInf(price, 1) {
			nodes = append(nodes, node{types[i].Allocatable, price})
		}
	}
	return nodes
}

// room is how many leaders fit beside so many workers; negative if the workers do not fit.
func (n *node) room(workers int, worker, leader corev1.ResourceList) int {
	most := int(n.has.Pods().Value()) - workers
	for _, left := range []struct{ has, worker, leader int64 }{
		{n.has.Cpu().MilliValue(), worker.Cpu().MilliValue(), leader.Cpu().MilliValue()},
		{n.has.Memory().Value(), worker.Memory().Value(), leader.Memory().Value()},
	} {
		rest := left.has - int64(workers)*left.worker
		if rest < 0 {
			return -1
		}
		if left.leader > 0 {
			most = min(most, int(rest/left.leader))
		}
	}
	return most
}

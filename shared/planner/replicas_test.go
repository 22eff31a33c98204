package planner_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
)

// ofReplicaSet makes the pod one of the ReplicaSet.
func ofReplicaSet(name string) func(*corev1.Pod) {
	controls := true
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: types.UID("uid-" + name), Controller: &controls,
		}}
	}
}

// deployments returns the pods of Deployments of random sizes, without constraints.
func deployments(count, replicas int, seed uint64) []corev1.Pod {
	random := rand.New(rand.NewPCG(seed, 0))
	var pods []corev1.Pod
	for i := range count {
		cpu := 100 + 50*random.IntN(38)
		memory := cpu * (1 + random.IntN(8))
		name := fmt.Sprintf("app-%02d", i)
		for j := range replicas {
			pods = append(pods, newPod(fmt.Sprintf("%s-%d", name, j), fmt.Sprintf("%dm", cpu),
				fmt.Sprintf("%dMi", memory), app(name), ofReplicaSet(name)))
		}
	}
	return pods
}

// together is how many workloads have more than half of their replicas in one place, and how many
// all.
type together struct{ half, all int }

func (t *together) add(most, replicas int) {
	if most > replicas/2 {
		t.half++
	}
	if most == replicas {
		t.all++
	}
}

// concentration is about nodes, about the spot pools of the cheapest offerings, and about those
// that EC2 may choose.
type concentration struct{ node, pool, possible together }

// count adds the workloads of the plan.
func (c *concentration) count(s *plan.Snapshot, solved *plan.Plan) {
	owners, replicas := map[plan.PodRef]string{}, map[string]int{}
	for i := range s.Pods {
		owner := s.Pods[i].OwnerReferences[0].Name
		owners[plan.RefOf(&s.Pods[i])] = owner
		replicas[owner]++
	}
	type place struct{ owner, in string }
	nodes, pools, possible := map[string]int{}, map[place]int{}, map[place]int{}
	for i := range solved.NodeClaims {
		claim := &solved.NodeClaims[i]
		on := map[string]int{}
		for _, ref := range claim.Pods {
			on[owners[ref]]++
		}
		for owner, count := range on {
			nodes[owner] = max(nodes[owner], count)
			for at, o := range claim.Offerings {
				in := place{owner, o.InstanceType + " " + o.Zone}
				if possible[in] += count; at == 0 {
					pools[in] += count
				}
			}
		}
	}
	most := func(counts map[place]int, owner string) (most int) {
		for in, count := range counts {
			if in.owner == owner {
				most = max(most, count)
			}
		}
		return most
	}
	for owner, count := range replicas {
		c.node.add(nodes[owner], count)
		c.pool.add(most(pools, owner), count)
		c.possible.add(most(possible, owner), count)
	}
}

// TestReplicasAreApart plans 20 Deployments with six replicas each, for five seeds. It prints how
// many of the hundred have too many replicas together, without dispersal and with it, and what that
// adds to the price. The page has the same rows.
func TestReplicasAreApart(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, capacityType := range []string{api.CapacityTypeSpot, api.CapacityTypeOnDemand} {
		t.Run(capacityType, func(t *testing.T) {
			var without, with concentration
			prices := 0.0
			for seed := range uint64(5) {
				s := realSnapshot(t, newPool("default", require(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, capacityType)))
				s.Pods = deployments(20, 6, seed)
				apart := planner.Solve(s)
				with.count(s, apart)
				s.DispersalPercent = new(float64)
				cheapest := planner.Solve(s)
				without.count(s, cheapest)
				ratio := apart.PricePerHour / cheapest.PricePerHour
				prices += ratio
				if ratio > 1.01+1e-9 || len(apart.Unplaced) > 0 || apart.LowerBoundPerHour != cheapest.LowerBoundPerHour {
					t.Errorf("seed %d: $%.4f/h in place of $%.4f/h, bounds $%.4f/h and $%.4f/h, unplaced %v", seed,
						apart.PricePerHour, cheapest.PricePerHour, apart.LowerBoundPerHour, cheapest.LowerBoundPerHour, apart.Unplaced)
				}
			}
			pair := func(a, b int) string { return fmt.Sprintf("%d, %d", a, b) }
			pools := "| | |" // EC2 does not take on-demand nodes back
			if capacityType == api.CapacityTypeSpot {
				pools = fmt.Sprintf("%s | %s | %s |", pair(without.pool.all, with.pool.all),
					pair(without.pool.half, with.pool.half), pair(without.possible.half, with.possible.half))
			}
			row := fmt.Sprintf("| %s | %s | %s | %s %.2f %% more |", capacityType, pair(without.node.all, with.node.all),
				pair(without.node.half, with.node.half), pools, 100*(prices/5-1))
			if t.Log(row); !strings.Contains(string(page), row) {
				t.Errorf("README.md does not have this row: %s", row)
			}
		})
	}
}

// BenchmarkDispersal plans 5,000 pods of 250 Deployments, with dispersal and without.
func BenchmarkDispersal(b *testing.B) {
	for _, percent := range []float64{0, 1} {
		for _, capacityType := range []string{api.CapacityTypeOnDemand, api.CapacityTypeSpot} {
			b.Run(fmt.Sprintf("%s/%g", capacityType, percent), func(b *testing.B) {
				s := realSnapshot(b, newPool("default", require(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, capacityType)))
				s.InstanceTypes["default"] = everyNth(s.InstanceTypes["default"], benchmarkTypes)
				s.Pods = deployments(250, 20, 1)
				s.DispersalPercent = &percent
				benchmarkSolve(b, s)
				var c concentration
				c.count(s, planner.Solve(s))
				b.ReportMetric(float64(c.node.half), "over-half-on-node")
				b.ReportMetric(float64(c.possible.half), "over-half-in-pool")
			})
		}
	}
}

package consolidation_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
)

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func shuffled(s *plan.Snapshot, random *rand.Rand) *plan.Snapshot {
	other := *s
	other.Nodes, other.NodePools = slices.Clone(s.Nodes), slices.Clone(s.NodePools)
	random.Shuffle(len(other.Nodes), func(i, j int) { other.Nodes[i], other.Nodes[j] = other.Nodes[j], other.Nodes[i] })
	random.Shuffle(
		len(other.NodePools),
		func(i, j int) { other.NodePools[i], other.NodePools[j] = other.NodePools[j], other.NodePools[i] },
	)
	for i := range other.Nodes {
		pods := slices.Clone(other.Nodes[i].Pods)
		random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
		other.Nodes[i].Pods = pods
	}
	return &other
}

// carryOut makes the moves one after the other, and checks each on the cluster after those before
// it.
func carryOut(t *testing.T, s *plan.Snapshot, moves []consolidation.Move, run string, at time.Time) *plan.Snapshot {
	t.Helper()
	for i := range moves {
		if wrong := consolidationtest.CheckMove(s, &moves[i]); len(wrong) > 0 {
			t.Errorf("move %d of run %s: %s", i, run, wrong[0])
		}
		before := consolidationtest.Price(s)
		s = consolidationtest.CarryOut(s, &moves[i], fmt.Sprintf("%s-%d", run, i), at)
		if after := consolidationtest.Price(s); after > before+1e-6 {
			t.Errorf("move %d of run %s raises the price from %f to %f", i, run, before, after)
		}
	}
	return s
}

// fleets are all kinds of fleets. A short run has the one that takes least time.
func fleets() []consolidationtest.Fleet {
	all := consolidationtest.Fleets()
	if testing.Short() {
		return slices.DeleteFunc(all, func(f consolidationtest.Fleet) bool { return f.Name != "mixed" })
	}
	return all
}

// TestFleetsComeToRest carries out plans for fleets within a budget until no move is left. Every
// pod has a place after every move, the price never rises, and no plan exceeds the budget. Further
// plans for the fleet then have no moves either.
func TestFleetsComeToRest(t *testing.T) {
	types := someTypes(t, 12)
	for _, fleet := range fleets() {
		t.Run(fleet.Name, func(t *testing.T) {
			t.Parallel()
			s := fleet.Make(16, types)
			first := consolidationtest.Price(s)
			resting := false
			at := now
			for run := 0; !resting; run++ {
				if run == 30 {
					t.Fatal("it does not come to rest")
				}
				allowed := map[string]consolidation.Allowance{"default": {Empty: 5, Underutilized: 5}}
				p := consolidation.Solve(&consolidation.Input{Cluster: s, Allowed: allowed, Now: at})
				gone := 0
				for i := range p.Moves {
					gone += len(p.Moves[i].Delete)
				}
				if gone > 5 {
					t.Errorf("run %d takes %d nodes away, the budget allows 5", run, gone)
				}
				resting = len(p.Moves) == 0
				s = carryOut(t, s, p.Moves, fmt.Sprint(run), at)
				at = at.Add(time.Hour)
			}
			if last := consolidationtest.Price(s); last >= first {
				t.Errorf("it costs %f, and %f before", last, first)
			}
			atRest := asJSON(t, consolidation.Solve(&consolidation.Input{Cluster: s, Now: at}))
			random := rand.New(rand.NewPCG(1, 2))
			for range plantest.Seeds(10) {
				p := consolidation.Solve(&consolidation.Input{Cluster: shuffled(s, random), Now: at})
				if len(p.Moves) > 0 {
					t.Fatalf("a fleet at rest is moved: %s", asJSON(t, p.Moves))
				}
				if asJSON(t, p) != atRest {
					t.Fatal("another order of the input gives another plan")
				}
			}
		})
	}
}

// randomCluster is a small cluster without pending pods, and a source for further random choices.
func randomCluster(seed uint64) (*plan.Snapshot, *rand.Rand) {
	s := plantest.Random(seed)
	s.Pods = nil
	for i := range s.NodePools {
		s.NodePools[i].Default()
	}
	return s, rand.New(rand.NewPCG(seed, 3))
}

// protectSome marks a third of the running pods as not to be disrupted.
func protectSome(s *plan.Snapshot, random *rand.Rand) {
	for i := range s.Nodes {
		for j := range s.Nodes[i].Pods {
			if random.IntN(3) == 0 {
				s.Nodes[i].Pods[j].Annotations = map[string]string{api.DoNotDisruptAnnotationKey: "true"}
			}
		}
	}
}

// TestRandomClusters plans for small clusters that between them use every feature of scheduling.
func TestRandomClusters(t *testing.T) {
	moved, launched := 0, 0
	for seed := range plantest.Seeds(300) {
		s, random := randomCluster(seed)
		if seed%2 == 1 {
			s = plantest.WithExtras(s, seed)
		}
		if random.IntN(3) == 0 {
			protectSome(s, random)
		}
		p := consolidation.Solve(&consolidation.Input{Cluster: s, Now: now})
		other := consolidation.Solve(&consolidation.Input{Cluster: shuffled(s, random), Now: now})
		if asJSON(t, p) != asJSON(t, other) {
			t.Errorf("seed %d: another order of the input gives another plan:\n%s\n%s", seed, asJSON(t, p), asJSON(t, other))
		}
		if len(p.Moves) == 0 && len(p.Waiting) > 0 {
			t.Errorf("seed %d: moves wait, and no move comes first: %s", seed, asJSON(t, p.Waiting))
		}
		for i := range p.Moves {
			moved += p.Moves[i].PodsMoved
			launched += len(p.Moves[i].Launch)
			for _, leaving := range p.Moves[i].Delete {
				checkMayGo(t, seed, s, leaving.NodeClaim)
			}
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { carryOut(t, s, p.Moves, "random", now) })
		claims := 0
		for i := range s.Nodes {
			if s.Nodes[i].NodeClaim != nil {
				claims++
			}
		}
		said := len(p.Stays)
		for _, moves := range [][]consolidation.Move{p.Moves, p.Waiting} {
			for i := range moves {
				said += len(moves[i].Delete)
			}
		}
		if said != claims {
			t.Errorf("seed %d: of %d nodes with claims something is said of %d", seed, claims, said)
		}
	}
	if moved == 0 || launched == 0 {
		t.Errorf("%d pods moved, %d nodes launched: the clusters show nothing", moved, launched)
	}
}

// checkMayGo checks that nothing keeps a deleted node: its state, or a protected pod.
func checkMayGo(t *testing.T, seed uint64, s *plan.Snapshot, claim string) {
	t.Helper()
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.NodeClaim == nil || n.NodeClaim.Name != claim {
			continue
		}
		if n.Node == nil || n.Node.Labels[api.NodeInitializedLabelKey] != "true" || n.NodeClaim.DeletionTimestamp != nil {
			t.Errorf("seed %d: %s goes, which is starting or leaving", seed, claim)
		}
		if slices.ContainsFunc(n.Pods, func(p corev1.Pod) bool {
			return p.Annotations[api.DoNotDisruptAnnotationKey] == "true" && p.DeletionTimestamp == nil &&
				p.Status.Phase == corev1.PodRunning
		}) {
			t.Errorf("seed %d: %s goes, of which a pod may not be disrupted", seed, claim)
		}
	}
}

// TestFreshlyMovedPodsStay plans again at once after all moves were carried out.
func TestFreshlyMovedPodsStay(t *testing.T) {
	types := someTypes(t, 12)
	for _, fleet := range fleets() {
		t.Run(fleet.Name, func(t *testing.T) {
			s := fleet.Make(24, types)
			p := consolidation.Solve(&consolidation.Input{Cluster: s, Now: now})
			if len(p.Moves) == 0 {
				t.Fatal("nothing moves")
			}
			at := now.Add(time.Minute)
			s = carryOut(t, s, p.Moves, "first", at)
			if again := consolidation.Solve(&consolidation.Input{Cluster: s, Now: at}); len(again.Moves) > 0 {
				t.Errorf("%d moves at once after others: %s", len(again.Moves), asJSON(t, again.Moves[0]))
			}
		})
	}
}

// limitToUsed sets the pool's limit of CPU to what its nodes use.
func limitToUsed(s *plan.Snapshot, pool *api.NodePool) {
	used := resource.Quantity{}
	for i := range s.Nodes {
		if claim := s.Nodes[i].NodeClaim; claim != nil && claim.Labels[api.NodePoolLabelKey] == pool.Name {
			used.Add(claim.Status.Capacity[corev1.ResourceCPU])
		}
	}
	pool.Spec.Limits = api.Limits{corev1.ResourceCPU: used}
}

// TestTheFirstMoveHolds checks the first move of each plan on the same cluster. A move that counts
// on a later one, or on one for which no budget is left, would be proposed and rejected for ever.
func TestTheFirstMoveHolds(t *testing.T) {
	checked := 0
	for seed := range plantest.Seeds(600) {
		s, random := randomCluster(seed)
		input := &consolidation.Input{Cluster: s, Now: now, Allowed: map[string]consolidation.Allowance{}}
		for i := range s.NodePools {
			most := random.IntN(3)
			input.Allowed[s.NodePools[i].Name] = consolidation.Allowance{Empty: most, Underutilized: most}
			limitToUsed(s, &s.NodePools[i])
		}
		p := consolidation.Solve(input)
		if len(p.Moves) == 0 {
			continue
		}
		var claims []string
		for _, leaving := range p.Moves[0].Delete {
			claims = append(claims, leaving.NodeClaim)
		}
		if _, err := consolidation.Check(input, claims); err != nil {
			t.Errorf("seed %d: the first move, of %v, does not hold: %v", seed, claims, err)
		}
		checked++
	}
	if checked < 100 {
		t.Errorf("%d moves were checked", checked)
	}
}

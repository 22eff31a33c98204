package schedulertest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/plan"
)

// TestSchedulerBindsThePlan plays every scenario twice. First the scheduler chooses: the pods wait, the nodes come as their cheapest offerings, and the
// scheduler binds where it likes. It may like a node that the plan meant for others, so that a second round of planning is allowed where the scenario says so.
// Then the plan chooses: each pod nominates its planned node, which the scheduler tries first, and the nodes come as their last offerings. What the plan puts
// together the scheduler must accept together.
func TestSchedulerBindsThePlan(t *testing.T) {
	class := catalogtest.NodeClass("default")
	all := catalog.Resolve(catalogtest.Snapshot(t), class, nil, catalogtest.Now)
	scenarios := readScenarios(t)
	for _, name := range slices.Sorted(maps.Keys(scenarios)) {
		t.Run(name, func(t *testing.T) {
			r := &run{T: t, scenario: scenarios[name], cluster: controlPlane, class: class, started: time.Now()}
			r.types = slices.DeleteFunc(slices.Clone(all), func(typ catalog.InstanceType) bool {
				return len(r.scenario.InstanceTypes) > 0 && !slices.Contains(r.scenario.InstanceTypes, typ.Name)
			})
			t.Cleanup(func() {
				// The test's own context is over by now.
				if err := r.cluster.reset(context.Background(), r.scenario.namespaceNames()); err != nil {
					t.Error(err)
				}
			})
			r.setUp()
			first, snapshot := r.plan()
			r.checkUnplaced(first)
			r.schedulerChooses(first)
			r.planChooses(first, snapshot)
		})
	}
}

// run is one play of a scenario.
type run struct {
	*testing.T
	*scenario
	cluster *cluster
	class   *api.EC2NodeClass
	types   []catalog.InstanceType
	started time.Time
	// launched are the nodes that plans have asked for so far.
	launched []*corev1.Node
}

// try ends the test with the error, if there is one.
func (r *run) try(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// plan plans what now waits.
func (r *run) plan() (*plan.Plan, *plan.Snapshot) {
	r.Helper()
	snapshot, err := r.cluster.snapshot(r.Context())
	r.try(err)
	snapshot.NodePools, snapshot.NodeClasses = r.NodePools, []api.EC2NodeClass{*r.class}
	snapshot.PreferencePolicy = plan.PreferencePolicy(r.PreferencePolicy)
	snapshot.InstanceTypes = map[string][]catalog.InstanceType{}
	for i := range r.NodePools {
		snapshot.InstanceTypes[r.NodePools[i].Name] = r.types
	}
	made := plan.Solve(snapshot)
	for i := range made.NodeClaims {
		clearUIDs(made.NodeClaims[i].Pods)
	}
	for i := range made.Nominations {
		made.Nominations[i].Pod.UID = ""
	}
	for i := range made.Unplaced {
		made.Unplaced[i].Pod.UID = ""
	}
	return made, snapshot
}

// clearUIDs makes the references fit a pod that is made again.
func clearUIDs(refs []plan.PodRef) {
	for i := range refs {
		refs[i].UID = ""
	}
}

// checkUnplaced holds the plan to what the scenario says of pods that fit nowhere.
func (r *run) checkUnplaced(made *plan.Plan) {
	r.Helper()
	got := map[string]int{}
	for _, u := range made.Unplaced {
		got[u.Pod.Name[:strings.LastIndex(u.Pod.Name, "-")]]++
	}
	if !maps.Equal(got, r.Unplaced) {
		r.Errorf("the plan leaves out %v, it should leave out %v%s", got, r.Unplaced, reasons(made))
	}
	if len(made.NodeClaims)+len(made.Nominations)+len(made.Unplaced) == 0 {
		r.Error("nothing was left for a plan: the scenario shows nothing")
	}
}

// schedulerChooses launches the plan and lets the scheduler bind the pods where it likes.
func (r *run) schedulerChooses(first *plan.Plan) {
	r.Helper()
	wanted, unplaced, homes := placed(first), unplacedOf(first), map[plan.PodRef]string{}
	made, seen := first, states{}
	for round := 1; ; round++ {
		launched := r.nodesOf(fmt.Sprintf("round-%d", round), made, func(offerings []plan.Choice) plan.Choice { return offerings[0] })
		maps.Copy(homes, homesOf(made, launched))
		r.launched = append(r.launched, launched...)
		r.try(r.cluster.launch(r.Context(), launched))
		r.try(r.cluster.release(r.Context(), launched))
		var err error
		seen, err = r.cluster.settle(r.Context(), wanted, quietWhileStuck)
		r.try(err)
		stuck := seen.unbound(wanted)
		if len(stuck) == 0 {
			r.logRun("the scheduler chooses", made, round, seen, homes)
			break
		}
		text := fmt.Sprintf("round %d left %d of %d planned pods without a node:\n%s", round, len(stuck), len(wanted), seen.complaints(stuck))
		if round == r.Rounds {
			r.Fatalf("%s\n%s\n%s", text, describe(made), seen.whereabouts(homes))
		}
		r.Log(text)
		before := made
		if made, _ = r.plan(); len(made.Unplaced) > len(before.Unplaced) {
			r.Fatalf("%s\nthe next plan has no place for them:%s", text, reasons(made))
		}
	}
	if len(unplaced) > 0 {
		var err error
		seen, err = r.cluster.settle(r.Context(), nil, quiet)
		r.try(err)
	}
	for _, ref := range unplaced {
		if pod := seen[ref]; pod.Spec.NodeName != "" {
			r.Errorf("the plan has no place for %s, and the scheduler bound it to %s%s", ref, pod.Spec.NodeName, reasons(first))
		}
	}
	r.checkNeedless(seen)
}

// planChooses launches the plan once more and has every pod tried on its planned node first.
func (r *run) planChooses(made *plan.Plan, snapshot *plan.Snapshot) {
	r.Helper()
	r.try(r.clear(snapshot))
	launched := r.nodesOf("planned", made, func(offerings []plan.Choice) plan.Choice { return offerings[len(offerings)-1] })
	homes, wanted := homesOf(made, launched), placed(made)
	r.try(r.cluster.launch(r.Context(), launched))
	r.try(r.cluster.release(r.Context(), launched))
	r.try(r.nominate(snapshot, wanted, homes))
	seen, err := r.cluster.settle(r.Context(), wanted, quietWhileStuck)
	r.try(err)
	if stuck := seen.unbound(wanted); len(stuck) > 0 {
		r.Fatalf("on their planned nodes, launched as their last offerings, the scheduler refuses %d of %d pods:\n%s\n%s\n%s",
			len(stuck), len(wanted), seen.complaints(stuck), describe(made), seen.whereabouts(homes))
	}
	r.logRun("the plan chooses", made, 1, seen, homes)
}

// nodesOf are the nodes that the plan launches.
func (r *run) nodesOf(prefix string, made *plan.Plan, choose func([]plan.Choice) plan.Choice) []*corev1.Node {
	r.Helper()
	var launched []*corev1.Node
	for i := range made.NodeClaims {
		claim := &made.NodeClaims[i]
		if len(claim.Offerings) == 0 {
			r.Fatalf("the plan says no offering for a node:\n%s", describe(made))
		}
		node, err := nodeOf(fmt.Sprintf("%s-%d", prefix, i), claim, choose(claim.Offerings), r.types)
		r.try(err)
		launched = append(launched, node)
	}
	return launched
}

// checkNeedless finds launched nodes that run nothing but daemon sets' pods.
func (r *run) checkNeedless(seen states) {
	r.Helper()
	for _, node := range r.launched {
		if !slices.ContainsFunc(slices.Collect(maps.Values(seen)), func(pod corev1.Pod) bool { return pod.Spec.NodeName == node.Name }) {
			r.Errorf("node %s was launched, and no pod needed it", node.Name)
		}
	}
}

// logRun says how it went.
func (r *run) logRun(who string, made *plan.Plan, rounds int, seen states, homes map[plan.PodRef]string) {
	moved := 0
	for ref, home := range homes {
		if pod := seen[ref]; pod.Spec.NodeName != home {
			moved++
		}
	}
	r.Logf("%s: %d rounds, %d pods, %d of them elsewhere than planned, %d new nodes at %.4f $/h, %d unplaced, %s so far",
		who, rounds, len(homes), moved, len(made.NodeClaims), made.PricePerHour, len(made.Unplaced), time.Since(r.started).Round(10*time.Millisecond))
}

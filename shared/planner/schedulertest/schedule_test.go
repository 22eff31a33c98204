package schedulertest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/planner"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// TestSchedulerBindsThePlan plays every scenario twice.
//
// First the scheduler chooses. The planned nodes come as their cheapest offerings, and the
// scheduler binds the waiting pods to any of them. It may use a node that the plan meant for other
// pods, so most scenarios allow a second round of planning.
//
// Then the plan chooses. The planned nodes come as their dearest offerings, and the scheduler tries
// each pod's planned node first. It must accept every pod there.
func TestSchedulerBindsThePlan(t *testing.T) {
	scenarios := Scenarios(t)
	for _, name := range slices.Sorted(maps.Keys(scenarios)) {
		t.Run(name, func(t *testing.T) {
			r := &run{T: t, Scenario: scenarios[name], cluster: controlPlane, started: time.Now()}
			r.types = r.instanceTypes(t)
			t.Cleanup(func() {
				// The test's own context has ended.
				if err := r.cluster.reset(context.Background(), r.namespaceNames()); err != nil {
					t.Error(err)
				}
			})
			r.setUp()
			first, waiting := r.plan()
			r.checkUnplaced(first)
			r.schedulerChooses(first)
			r.planChooses(first, waiting)
		})
	}
}

// run is one play of a scenario.
type run struct {
	*testing.T
	*Scenario
	cluster *cluster
	types   []catalog.InstanceType
	started time.Time
	// launched are the nodes of all plans so far.
	launched []*corev1.Node
}

// try ends the test if there is an error.
func (r *run) try(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// plan plans the pods that wait now. It returns the plan and its snapshot.
func (r *run) plan() (*plan.Plan, *plan.Snapshot) {
	r.Helper()
	objects, err := r.cluster.objects(r.Context())
	r.try(err)
	objects.NodePools, objects.NodeClasses = r.NodePools, []api.EC2NodeClass{*nodeClass()}
	waiting := snapshot.Assemble(objects, func(*api.NodePool) []catalog.InstanceType { return r.types }, nil, time.Now())
	waiting.PreferencePolicy = plan.PreferencePolicy(r.PreferencePolicy)
	began := time.Now()
	made := planner.Solve(waiting)
	if took := time.Since(began); took > time.Second {
		r.Logf("planning %d pods took %s", len(waiting.Pods), took.Round(time.Millisecond))
	}
	for i := range made.NodeClaims {
		clearUIDs(made.NodeClaims[i].Pods)
	}
	for i := range made.Nominations {
		made.Nominations[i].Pod.UID = ""
	}
	for i := range made.Unplaced {
		made.Unplaced[i].Pod.UID = ""
	}
	return made, waiting
}

// clearUIDs removes the UIDs of references, because the pods will be created again.
func clearUIDs(refs []plan.PodRef) {
	for i := range refs {
		refs[i].UID = ""
	}
}

// checkUnplaced compares the unplaced pods of a plan with the scenario.
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

// schedulerChooses launches the plan and lets the scheduler choose the pods' nodes. Where the
// scenario allows a second round, it plans again for pods that found no node.
func (r *run) schedulerChooses(first *plan.Plan) {
	r.Helper()
	wanted, unplaced, plannedNodes := placed(first), unplacedOf(first), map[plan.PodRef]string{}
	made, price, round := first, 0.0, 1
	var seen states
	for ; ; round++ {
		launched := r.nodesOf(
			fmt.Sprintf("round-%d", round),
			made,
			func(offerings []plan.Choice) plan.Choice { return offerings[0] },
		)
		maps.Copy(plannedNodes, plannedNodesOf(made, launched))
		price += made.PricePerHour
		r.launched = append(r.launched, launched...)
		r.try(r.cluster.launch(r.Context(), launched))
		r.try(r.cluster.release(r.Context(), launched))
		var err error
		seen, err = r.cluster.settle(r.Context(), wanted, unplaced, settleTimeStuck)
		r.try(err)
		if seen.complete(wanted, unplaced) {
			break
		}
		stuck := seen.unbound(wanted)
		text := fmt.Sprintf(
			"round %d left %d of %d planned pods without a node:\n%s",
			round,
			len(stuck),
			len(wanted),
			seen.refusals(stuck),
		)
		if round == r.Rounds {
			r.Fatalf("%s\n%s\n%s", text, describe(first), seen.placements(plannedNodes))
		}
		r.Log(text)
		if made, _ = r.plan(); len(made.Unplaced) > len(first.Unplaced) {
			r.Fatalf("%s\nthe next plan has no place for them:%s\n%s", text, reasons(made), seen.placements(plannedNodes))
		}
	}
	if len(unplaced) > 0 {
		var err error
		seen, err = r.cluster.settle(r.Context(), nil, nil, settleTime)
		r.try(err)
		if left := seen.unbound(slices.Concat(wanted, unplaced)); len(left) < len(unplaced) {
			r.Errorf(
				"the plan leaves out %d pods, the scheduler no more than %d%s\n%s",
				len(unplaced),
				len(left),
				reasons(first),
				seen.placements(plannedNodes),
			)
		}
	}
	emptyNodes := seen.emptyNodes(r.launched)
	if r.Rounds == 1 && len(emptyNodes) > 0 {
		r.Errorf("nodes were launched that no pod needs: %v\n%s", emptyNodes, seen.placements(plannedNodes))
	}
	r.Logf(
		"the scheduler chooses: %d rounds, %d pods, %d of them elsewhere than planned, "+
			"%d new nodes at $%.4f/h, %d of them empty, %d pods unplaced, %s so far",
		round,
		len(wanted),
		len(seen.misplaced(plannedNodes)),
		len(r.launched),
		price,
		len(emptyNodes),
		len(first.Unplaced),
		time.Since(r.started).Round(10*time.Millisecond),
	)
}

// planChooses launches the plan again, with the pods nominated for their planned nodes.
func (r *run) planChooses(made *plan.Plan, waiting *plan.Snapshot) {
	r.Helper()
	r.try(r.clear(waiting))
	launched := r.nodesOf(
		"planned",
		made,
		func(offerings []plan.Choice) plan.Choice { return offerings[len(offerings)-1] },
	)
	plannedNodes := plannedNodesOf(made, launched)
	r.try(r.cluster.launch(r.Context(), launched))
	r.try(r.cluster.release(r.Context(), launched))
	seen, waves, err := r.nominate(placed(made), plannedNodes)
	r.try(err)
	if misplaced := seen.misplaced(plannedNodes); len(misplaced) > 0 {
		r.Fatalf("launched as their last offerings, the planned nodes do not get %d of %d pods:\n%s\n%s\n%s",
			len(misplaced), len(plannedNodes), seen.refusals(misplaced), describe(made), seen.placements(plannedNodes))
	}
	r.Logf(
		"the plan chooses: %d pods, all as planned in %d waves, %s so far",
		len(plannedNodes),
		waves,
		time.Since(r.started).Round(10*time.Millisecond),
	)
}

// nodesOf returns the nodes of the plan's claims, each with the offering that choose returns.
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

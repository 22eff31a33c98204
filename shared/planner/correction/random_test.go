package correction_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/claims"
	"github.com/whittle-dev/whittle/shared/planner/correction"
	"github.com/whittle-dev/whittle/shared/planner/placement"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
)

// placeAtRandom places most units: on existing nodes, on random planned nodes with room, or on new
// nodes. Demands that must share a node with other pods wait, as in planner.Solve. Divide has bound
// the others to domains, and nothing else keeps them from breaking a spread or affinity.
func placeAtRandom(state *placement.State, random *rand.Rand) {
	if random.IntN(2) == 0 {
		state.FillExisting(0)
	}
	for _, d := range state.Demands {
		if len(d.Follows) > 0 || random.IntN(3) == 0 {
			continue
		}
		for d.Waiting > random.IntN(3) {
			if n := len(state.Planned); n > 0 && random.IntN(4) > 0 {
				if at := state.Planned[random.IntN(n)]; state.RoomOrGrow(at, d, 1) > 0 {
					state.PlaceOrGrow(at, d, 1)
					continue
				}
			}
			if state.PlanNodeFor(d) == nil {
				break
			}
		}
	}
}

// planOf writes the placements as a plan. The pods that wait are unplaced, without good reasons.
func planOf(stages *stagetest.Stages) *plan.Plan {
	p := &plan.Plan{}
	leave := func(g *placement.Leftover) {
		for _, pod := range g.Pods {
			p.Unplaced = append(p.Unplaced, plan.Unplaced{Pod: plan.RefOf(pod)})
		}
	}
	for i := range stages.State.Leftovers {
		leave(&stages.State.Leftovers[i])
	}
	for _, d := range stages.State.Demands {
		leave(&placement.Leftover{Pods: placement.Flatten(d.Units[len(d.Units)-d.Waiting:])})
		d.Units, d.Waiting = d.Units[:len(d.Units)-d.Waiting], 0
	}
	p.Nominations = stages.State.Nominate()
	p.NodeClaims, _ = claims.Write(stages.State, stages.State.Planned)
	for i := range p.NodeClaims {
		p.PricePerHour += p.NodeClaims[i].PricePerHour
		p.ExtrasPerHour += p.NodeClaims[i].ExtrasPerHour
	}
	return p
}

// tolerated are the classes of findings that this test does not look for. Nobody explains why pods
// wait here, or looks for a place after the last round. Karpenter counts zones without nodes in a
// spread, and Kubernetes does not (spread-opened). HostSlack measures planned nodes by the types
// that they are expected to be, and a launch may choose another one (open-topology).
var tolerated = []string{"left out", "reasons", "spread-opened", "open-spread-opened", "open-topology"}

// TestCorrectionMakesRandomPlacementsLegal places the pods of random clusters at random, corrects that,
// and checks the plan against Kubernetes' rules. Pods may stay without a place.
func TestCorrectionMakesRandomPlacementsLegal(t *testing.T) {
	retracted, placed := 0, 0
	for seed := range uint64(400) {
		s := plantest.Random(seed)
		s.PreferencePolicy = plan.PreferencesIgnored
		stages := stagetest.Read(s)
		stages.Domain.Divide(stages.Work.Groups)
		placeAtRandom(stages.State, rand.New(rand.NewPCG(seed, 9)))
		corrector := correction.New(stages.State, stages.Domain)
		if corrector.RetractViolations() {
			retracted++
		}
		for range 4 {
			corrector.PlaceSingly()
			if !corrector.RetractViolations() {
				break
			}
		}
		solved := planOf(stages)
		violations := slices.DeleteFunc(plantest.Check(s, solved), func(v string) bool {
			return slices.Contains(tolerated, plantest.Class(v))
		})
		if len(violations) > 0 {
			t.Errorf("seed %d: %v", seed, violations)
		}
		for _, claim := range solved.NodeClaims {
			placed += len(claim.Pods)
		}
	}
	if retracted < 20 || placed < 1000 {
		t.Errorf("%d clusters had violations, and %d pods have places: the test is too easy", retracted, placed)
	}
	t.Logf("%d clusters had violations, and %d pods have places", retracted, placed)
}

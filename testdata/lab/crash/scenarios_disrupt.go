package crash

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// disruptScenarios has one scenario for each way in which Whittle removes nodes of its own accord.
func disruptScenarios() []Scenario {
	recommended := func(s *stage) {
		recommendedNode(s)
		s.pods("guest", 2, "1500m")
	}
	frugal := map[string]any{
		"disruption": map[string]any{
			"consolidateAfter": "0s", "consolidationPolicy": "WhenEmptyOrUnderutilized",
			"budgets": []any{map[string]any{"nodes": "100%"}},
		},
	}
	empty := func(s *stage) {
		s.pool(map[string]any{
			"disruption": map[string]any{
				"consolidateAfter": "0s", "consolidationPolicy": "WhenEmpty", "budgets": []any{map[string]any{"nodes": "100%"}},
			},
		})
		s.node("idle")
	}
	scenarios := []Scenario{
		{
			Function: "disrupt", Name: "an empty node", Ticked: []string{"lifecycle", "disrupt"}, Done: claims(0),
			Arrange: empty,
		},
		{
			Function: "disrupt", Name: "an empty node, and a pod comes when it is gone on with", Launches: anyNumber,
			Arrange: func(s *stage) {
				s.readyClass()
				empty(s)
			},
			OnFirstKill: func(s *stage) { s.pods("late", 1, "1") },
			Done: func(t *trial, s *state) string {
				if !t.ledger.dead() {
					return claims(0)(t, s)
				}
				return running(1)(t, s)
			},
		},
		{
			Function: "disrupt", Name: "a node that is replaced", Launches: 1, Done: replaced, Arrange: recommended,
			// A replacement that died before its claims were written is rolled back and not retried
			// for ten minutes.
			RolledBack: rolledBack, PartDone: ordered,
		},
		{
			Function: "disrupt", Name: "a node whose pod has a volume", Launches: 1, Done: replaced, RolledBack: rolledBack,
			PartDone: ordered,
			Arrange: func(s *stage) {
				recommendedNode(s)
				s.unavailable()
				s.volumeClaim("data", "")
				s.pods("guest", 1, "1500m").shape = apart("data")
			},
		},
		{
			Function: "disrupt", Name: "a node that has drifted", Launches: 1, Done: replaced, RolledBack: rolledBack,
			PartDone: ordered,
			Arrange: func(s *stage) {
				s.readyClass()
				s.pool(nil)
				s.node("old", func(claim *api.NodeClaim) {
					claim.Annotations[api.NodePoolHashAnnotationKey], claim.Annotations[api.NodePoolHashVersionAnnotationKey] = "1",
						api.NodePoolHashVersion
				})
				s.pods("guest", 2, "1500m")
			},
		},
		{
			Function: "disrupt", Name: "a node that is not worth its price", Launches: 1, Done: replaced, RolledBack: rolledBack,
			PartDone: ordered,
			Arrange: func(s *stage) {
				s.readyClass()
				s.pool(frugal)
				s.node("old", func(claim *api.NodeClaim) { claim.Labels[api.CapacityTypeLabelKey] = api.CapacityTypeOnDemand })
				s.pods("guest", 1, "1500m")
				s.nextMinute()
			},
		},
		{
			// Its pods fit on the other node.
			Function: "disrupt", Name: "a node that is not needed", Ticked: []string{"lifecycle", "disrupt"}, Done: running(1),
			Arrange: func(s *stage) {
				s.readyClass()
				s.pool(frugal)
				s.node("one")
				s.node("two")
				s.pods("filler", 2, "1500m")
				s.pods("guest", 1, "1500m")
			},
			Event: func(s *stage) any {
				s.shrink("filler", 1)
				s.nextMinute()
				return tickFor(s.world)
			},
		},
		{
			Function: "disrupt", Name: "new pods are steered off one of two nodes", Ticked: []string{"disrupt"}, Done: steered,
			Arrange: func(s *stage) {
				empty(s)
				s.annotatePool(api.SteerPodsAnnotationKey, "true")
				s.node("other")
				s.pods("guest", 2, "3")
			},
			Event: func(s *stage) any {
				s.nextMinute()
				return tickFor(s.world)
			},
		},
		{
			Function: "disrupt", Name: "a node that expires within budgets", Launches: 1, Done: replaced, RolledBack: rolledBack,
			PartDone: ordered,
			Arrange: func(s *stage) {
				s.readyClass()
				s.pool(nil)
				s.annotatePool(disruption.ExpireWithinBudgetsAnnotationKey, "true")
				s.node("old", func(claim *api.NodeClaim) {
					expires := 30 * time.Second
					claim.Spec.ExpireAfter.Duration = &expires
				})
				s.pods("guest", 2, "1500m")
				s.later(time.Minute)
			},
		},
		{
			Function: "disrupt", Name: "a node that AWS takes in days", Launches: 1, Done: replaced, RolledBack: rolledBack,
			PartDone: ordered,
			Arrange: func(s *stage) {
				s.readyClass()
				s.pool(nil)
				claim, _ := s.node("old")
				s.annotate(claim, disruption.MarkDeparture(claim,
					disruption.Departure{At: s.world.now().Add(48 * time.Hour), Because: "retirement"}))
				s.pods("guest", 2, "1500m")
			},
		},
		{
			Function: "disrupt", Name: "a single replica that is moved by a restart", Launches: 1, Done: replaced,
			RolledBack: rolledBack, PartDone: ordered,
			Arrange: func(s *stage) {
				recommendedNode(s)
				s.deployment("single", "1500m")
			},
		},
		{
			Function: "disrupt", Name: "a replacement for which there is no room", Arrange: func(s *stage) {
				recommended(s)
				s.world.account.ec2.Starve(ec2.Starvation{})
			},
			Done: rolledBack,
		},
		{
			// The replacement is given up after an hour, and the next try is ten minutes later.
			Function: "disrupt", Name: "a replacement that never becomes ready", Launches: 1, NodesNeverReady: true,
			Step:    9 * time.Minute,
			Arrange: recommended, Done: rolledBack, RolledBack: rolledBack, PartDone: takenBack, Again: retryDue,
		},
	}
	// Disrupt waits for tens of seconds.
	for i := range scenarios {
		scenarios[i].Step = cmp.Or(scenarios[i].Step, 10*time.Second)
	}
	return scenarios
}

// recommendedNode creates a node with a rebalance recommendation.
func recommendedNode(s *stage) {
	s.readyClass()
	s.pool(nil)
	claim, _ := s.node("old")
	s.annotate(claim, disruption.MarkRebalance(claim, s.world.now(), s.world.now()))
}

// nextMinute advances the clock to the next minute, because disrupt proposes moves as a minute
// begins. The functions' clock knows whole seconds, so it is behind by less than one.
func (s *stage) nextMinute() {
	now := s.world.now()
	s.later(now.Truncate(time.Minute).Add(time.Minute + time.Second).Sub(now))
}

// steered is the end at which one of two nodes has the soft taint.
func steered(t *trial, s *state) string {
	of := 0
	for i := range s.nodes {
		if disruption.IsCandidate(&s.nodes[i]) {
			of++
		}
	}
	if of != 1 {
		return fmt.Sprintf("%d nodes have the soft taint, want one", of)
	}
	return running(2)(t, s)
}

// ordered reports that the node "old" is being deleted, so that lifecycle's part begins.
func ordered(s *state) bool {
	return !slices.ContainsFunc(s.claims, func(claim api.NodeClaim) bool {
		return claim.Name == "old" && claim.DeletionTimestamp == nil
	})
}

// takenBack reports that no replacement of the node "old" is under way any more.
func takenBack(s *state) bool {
	return slices.ContainsFunc(s.claims, func(claim api.NodeClaim) bool {
		_, begun := claim.Annotations[disruption.ReplacedByAnnotationKey]
		return claim.Name == "old" && !begun && claim.Annotations[disruption.ReplaceAfterAnnotationKey] != ""
	})
}

// retryDue reports that the node "old" is to be replaced again by now. A kill may delay the end for so long.
func retryDue(t *trial, s *state) bool {
	after, err := time.Parse(time.RFC3339, s.claims[0].Annotations[disruption.ReplaceAfterAnnotationKey])
	return err == nil && !t.world.now().Before(after)
}

// rolledBack is the end at which the node "old" and its pods run on, and no retry is due for a
// while.
func rolledBack(t *trial, s *state) string {
	for _, of := range t.stage.workloads {
		if of.made > of.count {
			return "a pod of " + of.name + " had to go"
		}
	}
	if lacks := running(1)(t, s); lacks != "" {
		return lacks
	}
	claim, node := &s.claims[0], &s.nodes[0]
	_, begun := claim.Annotations[disruption.ReplacedByAnnotationKey]
	if claim.Name != "old" || begun || claim.Annotations[disruption.ReplaceAfterAnnotationKey] == "" ||
		disruption.IsTainted(node) {
		return "the replacement was not taken back"
	}
	return ""
}

package crash

import (
	"time"

	"github.com/whittle-dev/whittle/infra/local/ec2"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// disruptStories are one a way in which nodes are taken away of Whittle's own accord.
func disruptStories() []Story {
	recommended := func(s *stage) {
		s.readyClass()
		s.pool(nil)
		claim, _ := s.node("old")
		s.annotate(claim, disruption.MarkRebalance(claim, time.Now(), time.Now()))
		s.pods("guest", 2, "1500m")
	}
	empty := func(s *stage) {
		s.pool(map[string]any{"disruption": map[string]any{"consolidateAfter": "0s", "consolidationPolicy": "WhenEmpty", "budgets": []any{map[string]any{"nodes": "100%"}}}})
		s.node("idle")
	}
	return []Story{
		{Function: "disrupt", Name: "an empty node", With: []string{"lifecycle", "disrupt"}, Done: claims(0), Arrange: empty},
		{
			Function: "disrupt", Name: "an empty node, and a pod comes when it is gone on with", Launches: anyNumber,
			Arrange: func(s *stage) {
				s.readyClass()
				empty(s)
			},
			Meanwhile: func(s *stage) { s.pods("late", 1, "1") },
			Done: func(t *telling, s *state) string {
				if !t.ledger.dead() {
					return claims(0)(t, s)
				}
				return running(1)(t, s)
			},
		},
		{
			Function: "disrupt", Name: "a node that is replaced", Launches: 1, Done: replaced, Arrange: recommended,
			// A replacement that died before its claims were written is taken back, and not tried again for ten minutes.
			Spared: spared,
		},
		{
			Function: "disrupt", Name: "a node that has drifted", Launches: 1, Done: replaced, Spared: spared,
			Arrange: func(s *stage) {
				s.readyClass()
				s.pool(nil)
				s.node("old", func(claim *api.NodeClaim) {
					claim.Annotations[api.NodePoolHashAnnotationKey], claim.Annotations[api.NodePoolHashVersionAnnotationKey] = "1", api.NodePoolHashVersion
				})
				s.pods("guest", 2, "1500m")
			},
		},
		{
			Function: "disrupt", Name: "a node that is not worth its price", Launches: 1, Done: replaced, Spared: spared,
			Arrange: func(s *stage) {
				s.readyClass()
				s.pool(map[string]any{"disruption": map[string]any{"consolidateAfter": "0s", "consolidationPolicy": "WhenEmptyOrUnderutilized", "budgets": []any{map[string]any{"nodes": "100%"}}}})
				s.node("old", func(claim *api.NodeClaim) { claim.Labels[api.CapacityTypeLabelKey] = api.CapacityTypeOnDemand })
				s.pods("guest", 1, "1500m")
				// Moves are proposed as a minute begins.
				now := s.world.now()
				s.later(now.Truncate(time.Minute).Add(time.Minute).Sub(now))
			},
		},
		{
			Function: "disrupt", Name: "a replacement for which there is no room", Arrange: func(s *stage) {
				recommended(s)
				s.world.account.ec2.Starve(ec2.Starvation{})
			},
			Done: spared,
		},
	}
}

// spared is the end at which the node "old" goes on as it was, and is not tried again for a while.
func spared(t *telling, s *state) string {
	if lacks := running(1)(t, s); lacks != "" {
		return lacks
	}
	claim, node := &s.claims[0], &s.nodes[0]
	_, begun := claim.Annotations[disruption.ReplacedByAnnotationKey]
	if claim.Name != "old" || begun || claim.Annotations[disruption.ReplaceAfterAnnotationKey] == "" || disruption.IsTainted(node) {
		return "the replacement was not taken back"
	}
	return ""
}

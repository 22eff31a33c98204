package decide_test

import (
	"testing"
	"time"

	"github.com/whittle-dev/whittle/functions/disrupt/decide"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// TestANodeThatStaysHasAnEventOnceInAWhile holds that each node says in one minute of fifteen why it
// stays, and that a node which only settles says nothing.
func TestANodeThatStaysHasAnEventOnceInAWhile(t *testing.T) {
	seen := &disruption.Cluster{Nodes: []disruption.Node{*node("a", false), *node("new", false)}}
	decided := &consolidation.Plan{Stays: []consolidation.Stay{
		{NodeClaim: "a", Because: consolidation.Policy, Message: "its NodePool says consolidateAfter: Never"},
		{NodeClaim: "new", Because: consolidation.Unsettled, Message: "it is new"},
		{NodeClaim: "gone", Because: consolidation.Policy, Message: "it is gone"},
	}}
	times := map[string]int{}
	for minute := range 15 {
		for _, event := range decide.Unconsolidatable(seen, decided, now.Add(time.Duration(minute)*time.Minute)) {
			if event.Reason != "Unconsolidatable" || event.Message != "its NodePool says consolidateAfter: Never" {
				t.Errorf("event %+v", event)
			}
			times[event.About.Kind+" "+event.About.Name]++
		}
	}
	if len(times) != 2 || times["Node node-a"] != 1 || times["NodeClaim a"] != 1 {
		t.Errorf("events in fifteen minutes: %v", times)
	}
}

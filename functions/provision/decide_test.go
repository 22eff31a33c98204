package provision

import (
	"fmt"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
)

// TestEachNamespaceHearsWhyItsPodsWait has one tenant with many hopeless pods, in a namespace that comes
// first by name.
func TestEachNamespaceHearsWhyItsPodsWait(t *testing.T) {
	decided := &plan.Plan{}
	for i := range 100 {
		decided.Unplaced = append(decided.Unplaced, plan.Unplaced{Pod: plan.PodRef{Namespace: "a", Name: fmt.Sprint(i)}})
	}
	decided.Unplaced = append(decided.Unplaced, plan.Unplaced{Pod: plan.PodRef{Namespace: "z", Name: "web"}})
	told := map[string]int{}
	for _, event := range unplacedEvents(decided) {
		told[event.About.Namespace]++
	}
	if told["a"] != maximumPodEvents-1 || told["z"] != 1 {
		t.Errorf("events of namespaces: %v", told)
	}
}

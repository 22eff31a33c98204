package nodeclaim

import (
	"testing"

	"github.com/whittle-dev/whittle/events/own"
)

// published are the events that a pass publishes.
func published(steps []Step) []own.Detail {
	var details []own.Detail
	for _, step := range steps {
		if publish, is := step.(Publish); is {
			details = append(details, publish.Detail)
		}
	}
	return details
}

func TestAReadyNodeIsPublishedOnce(t *testing.T) {
	ready := view(claim(registered), node(joined))
	details := published(Next(ready, now).Steps)
	if len(details) != 1 {
		t.Fatalf("published %+v", details)
	}
	is, of := details[0].(own.NodeReady)
	if !of || is.Cluster != "prod" || is.Version != own.Version || is.NodeClaim != "default-abc" ||
		is.InstanceID != "i-1" {
		t.Errorf("published %+v", details[0])
	}
	initialized := view(claim(initialized), node(joined))
	if details := published(Next(initialized, now).Steps); len(details) > 0 {
		t.Errorf("an initialized node published %+v", details)
	}
}

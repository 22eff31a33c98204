package response_test

import (
	"testing"
	"time"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/functions/interrupt/response"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// TestTheLatestWordOfHealthCounts delivers an announcement, its withdrawal and a new announcement in each
// order, and each once more. The claim ends up with what was said last.
func TestTheLatestWordOfHealthCounts(t *testing.T) {
	start := now.Add(14 * 24 * time.Hour)
	told := func(hours int, status events.HealthStatus) events.Event {
		return events.Event{Time: now.Add(time.Duration(hours) * time.Hour), Detail: &events.ScheduledChange{
			InstanceIDs: []string{"i-1"}, Status: status, StartTime: start, EventARN: "arn:a"}}
	}
	announced, withdrawn := told(-3, events.HealthStatusUpcoming), told(-2, events.HealthStatusClosed)
	again := told(-1, events.HealthStatusUpcoming)
	for _, test := range []struct {
		name    string
		order   []events.Event
		departs bool
	}{
		{"announced", []events.Event{announced, announced}, true},
		{"withdrawn", []events.Event{announced, withdrawn}, false},
		{"withdrawn and repeated", []events.Event{announced, withdrawn, announced, withdrawn}, false},
		{"the withdrawal first", []events.Event{withdrawn, announced}, false},
		{"announced again", []events.Event{announced, withdrawn, again}, true},
		{"announced again before", []events.Event{withdrawn, again, announced}, true},
	} {
		c := claim("a", "i-1", "")
		for _, event := range test.order {
			apply(t, &c, response.Decide([]events.Event{event}, []api.NodeClaim{c}, response.Evidence{}, now))
		}
		if _, departs := disruption.DepartureOf(&c); departs != test.departs {
			t.Errorf("%s: the claim has %v", test.name, c.Annotations)
		}
	}
}

// TestAResolvedEntityHasNoDeparture takes the mark from the instance whose change is over, while those of
// others are still ahead.
func TestAResolvedEntityHasNoDeparture(t *testing.T) {
	change := &events.ScheduledChange{
		InstanceIDs: []string{"i-1", "i-2"}, Status: events.HealthStatusUpcoming, StartTime: now.Add(14 * 24 * time.Hour),
		EventARN: "arn:a",
	}
	claims := []api.NodeClaim{claim("a", "i-1", ""), claim("b", "i-2", "")}
	announce := events.Event{Time: now.Add(-time.Hour), Detail: change}
	later := *change
	later.InstanceIDs, later.ResolvedIDs = []string{"i-2"}, []string{"i-1"}
	for _, event := range []events.Event{announce, {Time: now, Detail: &later}} {
		for i := range claims {
			apply(t, &claims[i], response.Decide([]events.Event{event}, claims[i:i+1], response.Evidence{}, now))
		}
	}
	_, first := disruption.DepartureOf(&claims[0])
	if _, second := disruption.DepartureOf(&claims[1]); first || !second {
		t.Errorf("resolved: %v, other: %v", claims[0].Annotations, claims[1].Annotations)
	}
}

// TestAPastStartGivesPodsTheirTime ends a node whose maintenance should have begun a week ago.
func TestAPastStartGivesPodsTheirTime(t *testing.T) {
	c := claim("a", "i-1", "")
	event := events.Event{Time: now, Detail: &events.ScheduledChange{
		InstanceIDs: []string{"i-1"}, Status: events.HealthStatusUpcoming, StartTime: now.Add(-7 * 24 * time.Hour),
		EventARN: "arn:a"}}
	responses := response.Decide([]events.Event{event}, []api.NodeClaim{c}, response.Evidence{}, now)
	apply(t, &c, responses)
	want := now.Add(time.Hour).UTC().Format(time.RFC3339)
	got := c.Annotations[api.NodeClaimTerminationTimestampAnnotationKey]
	if len(responses) != 1 || !responses[0].Ends || got != want {
		t.Errorf("%d responses, and the drain ends at %q, want %q", len(responses), got, want)
	}
}

// apply writes the annotations of the responses' patches on the claim.
func apply(t *testing.T, c *api.NodeClaim, responses []*response.Response) {
	t.Helper()
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	for _, one := range responses {
		for _, step := range one.Steps {
			patch, ok := step.(response.PatchClaim)
			if !ok {
				continue
			}
			made := patch.Patch(c)
			if made == nil {
				continue
			}
			for key, value := range made["metadata"].(map[string]any)["annotations"].(map[string]any) {
				if delete(c.Annotations, key); value != nil {
					c.Annotations[key] = value.(string)
				}
			}
		}
	}
}

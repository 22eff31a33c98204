package response_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/functions/interrupt/response"
	"github.com/whittle-dev/whittle/shared/api"
)

func ended(responses []*response.Response) (names []string) {
	for _, one := range responses {
		if one.Ends {
			names = append(names, one.Claim.Name)
		}
	}
	return names
}

// TestOneMessageEndsFewNodes decides about one Health event that names each instance of a cluster.
func TestOneMessageEndsFewNodes(t *testing.T) {
	for _, test := range []struct{ named, confirmed, want int }{
		{2000, 0, 0},
		{2000, 3, 3},
		{response.MaximumNamed + 1, 0, 0},
		{response.MaximumNamed + 1, response.MaximumNamed + 1, response.MaximumNamed + 1},
		{response.MaximumNamed, 0, response.MaximumNamed},
	} {
		var claims []api.NodeClaim
		var entities []map[string]any
		evidence := response.Evidence{Announced: map[string]bool{"i-foreign": true}}
		for i := range test.named {
			id := fmt.Sprintf("i-%017x", i+1)
			claims = append(claims, claim(fmt.Sprintf("c-%d", i), id, ""))
			entities = append(entities, map[string]any{"entityValue": id})
			evidence.Announced[id] = i < test.confirmed
		}
		body, err := json.Marshal(map[string]any{
			"source": "aws.health", "account": "123456789012", "region": "us-east-1", "time": "2026-11-26T12:00:00Z",
			"detail-type": "AWS Health Event",
			"detail": map[string]any{
				"service": "EC2", "eventTypeCategory": "scheduledChange", "statusCode": "open", "affectedEntities": entities,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		event, err := events.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		responses := response.Decide([]events.Event{event}, claims, evidence, now)
		if got := len(ended(responses)); got != test.want || len(responses) != test.want {
			t.Errorf("%d named, %d confirmed: %d of %d responses end a node, want %d",
				test.named, test.confirmed, got, len(responses), test.want)
		}
	}
}

func TestDoubtfulEvents(t *testing.T) {
	const named = response.MaximumNamed + 2
	var ids []string
	var claims []api.NodeClaim
	for i := range named {
		ids = append(ids, fmt.Sprintf("i-%d", i))
		claims = append(claims, claim(fmt.Sprintf("c%02d", i), ids[i], "cr-1"))
	}
	slices.Sort(ids)
	block := func(in time.Duration) events.Detail {
		return &events.CapacityBlockExpiration{ReservationID: "cr-1", EndDate: now.Add(in)}
	}
	ends := func(in time.Duration) response.Evidence {
		return response.Evidence{Ends: map[string]time.Time{"cr-1": now.Add(in)}}
	}
	for _, test := range []struct {
		name      string
		detail    events.Detail
		evidence  response.Evidence
		doubted   bool
		responses int
	}{
		{"a block that ends then", block(35 * time.Minute), ends(35 * time.Minute), true, named},
		{"a block that ends earlier", block(35 * time.Minute), ends(34 * time.Minute), true, named},
		{"a block that ends later", block(35 * time.Minute), ends(24 * time.Hour), true, 0},
		{"a block that EC2 does not know", block(35 * time.Minute), response.Evidence{}, true, 0},
		{"a later end is doubted too", block(24 * time.Hour), ends(48 * time.Hour), true, 0},
		{"a block without an end that ends soon", &events.CapacityBlockExpiration{ReservationID: "cr-1"},
			ends(31 * time.Minute), true, named},
		{"a block without an end that ends later", &events.CapacityBlockExpiration{ReservationID: "cr-1"},
			ends(24 * time.Hour), true, 0},
		{"a later change is not written down", &events.ScheduledChange{InstanceIDs: ids, StartTime: now.Add(48 * time.Hour)},
			response.Evidence{}, true, 0},
		{"a change that is over ends nothing", &events.ScheduledChange{InstanceIDs: ids, Status: events.HealthStatusClosed},
			response.Evidence{}, false, named},
		{"of a change, the resolved part needs no word", &events.ScheduledChange{
			InstanceIDs: ids[1:], ResolvedIDs: ids[:1], Status: events.HealthStatusOpen,
		}, response.Evidence{}, true, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			doubts := response.Doubts(batch(test.detail), claims)
			if got := len(doubts) == 1; got != test.doubted {
				t.Errorf("doubts %+v, want one: %t", doubts, test.doubted)
			}
			responses := response.Decide(batch(test.detail), claims, test.evidence, now)
			if len(responses) != test.responses {
				t.Errorf("%d responses, want %d", len(responses), test.responses)
			}
			for _, doubt := range doubts {
				if got, want := doubt.Unconfirmed(test.evidence, now), named-test.responses; got != want {
					t.Errorf("%d of them are unconfirmed, want %d", got, want)
				}
			}
		})
	}
}

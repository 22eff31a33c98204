package interrupt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/api"
)

// counted is a cluster that counts the lists.
type counted struct {
	edge
	lists atomic.Int32
}

func (c *counted) SelectNodeClaims(
	ctx context.Context,
	selector labels.Selector,
	cached bool,
) ([]api.NodeClaim, error) {
	c.lists.Add(1)
	return c.edge.SelectNodeClaims(ctx, selector, cached)
}

func TestEventsFindTheirClaimsByLabels(t *testing.T) {
	for name, more := range map[string]map[string]string{
		"labelled-1": {api.LabelInstanceID: "i-labelled-1"}, "labelled-2": {api.LabelInstanceID: "i-labelled-2"},
		"unlabelled": {},
		"reserved":   {api.LabelInstanceID: "i-reserved", api.LabelCapacityReservationID: "cr-1"},
	} {
		server.Claim(t, name, "i-"+name, func(claim *api.NodeClaim) {
			for key, value := range more {
				claim.Labels[key] = value
			}
		})
		t.Cleanup(func() {
			server.Delete(t, api.NodeClaimsPath+"/"+name)
			server.Patch(t, api.NodeClaimsPath+"/"+name, map[string]any{"metadata": map[string]any{"finalizers": []string{}}})
		})
	}
	many := &events.ScheduledChange{}
	for i := range idsPerList + 1 {
		many.InstanceIDs = append(many.InstanceIDs, fmt.Sprint("i-foreign-", i))
	}
	many.InstanceIDs[idsPerList] = "i-labelled-2"
	block := &events.CapacityBlockExpiration{ReservationID: "cr-1"}
	for _, test := range []struct {
		name    string
		details []events.Detail
		want    string // the claims found, how many lists it took
	}{
		{
			"two instances, one of them twice",
			[]events.Detail{spot("i-labelled-1"), spot("i-labelled-2"), spot("i-labelled-1")},
			"labelled-1 labelled-2: 1",
		},
		{"one that has no label yet", []events.Detail{spot("i-unlabelled")}, "unlabelled: 3"},
		{"a foreign one beside ours", []events.Detail{spot("i-labelled-1"), spot("i-foreign")}, "labelled-1 unlabelled: 3"},
		{"what can be no label", []events.Detail{spot("no instance/at all")}, "unlabelled: 1"},
		{"more than one list has room for", []events.Detail{many}, "labelled-2 unlabelled: 4"},
		{"a reservation", []events.Detail{block}, "reserved: 1"},
		{"one claim by two names", []events.Detail{block, spot("i-reserved")}, "reserved: 2"},
		{"nothing", nil, ": 0"},
	} {
		messages := []*message{{ignored: true}, {err: errors.New("unreadable")}}
		for _, detail := range test.details {
			messages = append(messages, &message{event: events.Event{Detail: detail}})
		}
		client := &counted{edge: edge{server.Client(t, nil)}}
		search := searchFor(eventsOf(actionable(messages)))
		found, err := search.cached(t.Context(), client)
		more, late := search.stored(t.Context(), client)
		if err := errors.Join(err, late); err != nil {
			t.Fatal(err)
		}
		found = append(found, more...)
		var names []string
		for i := range found {
			if found[i].Labels[api.LabelInstanceID] != "" || found[i].Name == "unlabelled" {
				names = append(names, found[i].Name)
			}
		}
		slices.Sort(names)
		names = slices.Compact(names) // a claim may be found in both ways
		if got := fmt.Sprintf("%s: %d", strings.Join(names, " "), client.lists.Load()); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

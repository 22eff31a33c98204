package main

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

func TestRespond(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	state := func(state events.State) events.Detail { return &events.StateChange{InstanceID: "i-1", State: state} }
	change := func(status events.HealthStatus, ahead time.Duration) events.Detail {
		return &events.ScheduledChange{InstanceIDs: []string{"i-1"}, Status: status, StartTime: now.Add(ahead), EventARN: "arn:a"}
	}
	block := func(ahead time.Duration) events.Detail {
		return &events.CapacityBlockExpiration{ReservationID: "cr-1", EndDate: now.Add(ahead)}
	}
	const minute, hour, day = time.Minute, time.Hour, 24 * time.Hour
	for _, test := range []struct {
		name                string
		detail              events.Detail
		reason              string
		end, shortage, look bool
		by                  time.Duration     // from now; zero for none
		marks               map[string]any    // on a claim that has none
		known               map[string]string // the claim's annotations
	}{
		{name: "a spot interruption ends the node, and its offering is short", detail: &events.SpotInterruption{InstanceID: "i-1", Action: events.ActionTerminate}, reason: "SpotInterrupted", end: true, shortage: true},
		{name: "a hibernation is an interruption", detail: &events.SpotInterruption{InstanceID: "i-1", Action: events.ActionHibernate}, reason: "SpotInterrupted", end: true, shortage: true},
		{name: "a rebalance recommendation is remembered", detail: &events.RebalanceRecommendation{InstanceID: "i-1"}, reason: "SpotRebalanceRecommendation",
			marks: map[string]any{disruption.RebalanceRecommendedAnnotationKey: "2026-03-01T11:59:00Z"}},
		{name: "a rebalance recommendation that is known is not written again", detail: &events.RebalanceRecommendation{InstanceID: "i-1"}, reason: "SpotRebalanceRecommendation",
			known: map[string]string{disruption.RebalanceRecommendedAnnotationKey: "2026-03-01T11:30:00Z"}},
		{name: "an instance that is stopping ends its node", detail: state(events.StateStopping), reason: "InstanceStopping", end: true, look: true},
		{name: "an instance that has stopped ends its node", detail: state(events.StateStopped), reason: "InstanceStopping", end: true, look: true},
		{name: "an instance that is shutting down ends its node", detail: state(events.StateShuttingDown), reason: "InstanceTerminating", end: true, look: true},
		{name: "an instance that has ended ends its node", detail: state(events.StateTerminated), reason: "InstanceTerminating", end: true, look: true},
		{name: "an instance that runs", detail: state(events.StateRunning)},
		{name: "an instance that is pending is no news", detail: state(events.StatePending)},
		{name: "maintenance weeks ahead is remembered", detail: change(events.HealthStatusUpcoming, 14*day), reason: "InstanceUnhealthy",
			marks: map[string]any{disruption.DepartsAtAnnotationKey: "2026-03-15T12:00:00Z", disruption.DepartsBecauseAnnotationKey: "arn:a"}},
		{name: "the copy from the backup region is not written again", detail: change(events.HealthStatusUpcoming, 14*day), reason: "InstanceUnhealthy",
			known: map[string]string{disruption.DepartsAtAnnotationKey: "2026-03-15T12:00:00Z", disruption.DepartsBecauseAnnotationKey: "arn:a"}},
		{name: "maintenance that is put off is written anew", detail: change(events.HealthStatusUpcoming, 14*day), reason: "InstanceUnhealthy",
			known: map[string]string{disruption.DepartsAtAnnotationKey: "2026-03-10T12:00:00Z", disruption.DepartsBecauseAnnotationKey: "arn:a"},
			marks: map[string]any{disruption.DepartsAtAnnotationKey: "2026-03-15T12:00:00Z", disruption.DepartsBecauseAnnotationKey: "arn:a"}},
		{name: "the first of two departures counts", detail: change(events.HealthStatusUpcoming, 14*day), reason: "InstanceUnhealthy",
			known: map[string]string{disruption.DepartsAtAnnotationKey: "2026-03-10T12:00:00Z", disruption.DepartsBecauseAnnotationKey: "arn:b"}},
		{name: "maintenance that is near ends the node by its start", detail: change(events.HealthStatusOpen, 50*minute), reason: "InstanceUnhealthy", end: true, by: 50 * minute},
		{name: "maintenance that has begun ends the node", detail: change(events.HealthStatusOpen, -hour), reason: "InstanceUnhealthy", end: true, by: -hour},
		{name: "maintenance at no known time ends the node", detail: &events.ScheduledChange{InstanceIDs: []string{"i-1"}}, reason: "InstanceUnhealthy", end: true},
		{name: "maintenance that is over is forgotten", detail: change(events.HealthStatusClosed, 14*day),
			known: map[string]string{disruption.DepartsAtAnnotationKey: "2026-03-15T12:00:00Z", disruption.DepartsBecauseAnnotationKey: "arn:a"},
			marks: map[string]any{disruption.DepartsAtAnnotationKey: nil, disruption.DepartsBecauseAnnotationKey: nil}},
		{name: "other maintenance that is over takes nothing back", detail: change(events.HealthStatusClosed, 14*day),
			known: map[string]string{disruption.DepartsAtAnnotationKey: "2026-03-15T12:00:00Z", disruption.DepartsBecauseAnnotationKey: "arn:b"}},
		{name: "a reservation that is taken back ends the node by then", detail: &events.CapacityReservationInterruption{InstanceID: "i-1", TerminationTime: now.Add(2 * minute)},
			reason: "CapacityReservationInstanceInterrupted", end: true, shortage: true, by: 2 * minute},
		{name: "a capacity block ends its nodes before EC2 does, 30 minutes before its end", detail: block(40 * minute), reason: "CapacityReservationInstanceInterrupted", end: true, by: 10 * minute},
		{name: "a capacity block that ends at no known time ends its nodes", detail: &events.CapacityBlockExpiration{ReservationID: "cr-1"}, reason: "CapacityReservationInstanceInterrupted", end: true},
		{name: "a capacity block that ends later is remembered", detail: block(2 * hour), reason: "CapacityReservationInstanceInterrupted",
			marks: map[string]any{disruption.DepartsAtAnnotationKey: "2026-03-01T13:30:00Z", disruption.DepartsBecauseAnnotationKey: "cr-1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := respond(events.Event{Time: now.Add(-minute), Detail: test.detail}, now)
			if got.notice.reason != test.reason || got.end != test.end || got.shortage != test.shortage || got.look != test.look {
				t.Errorf("got %+v", got)
			}
			if test.by == 0 && !got.by.IsZero() || test.by != 0 && !got.by.Equal(now.Add(test.by)) {
				t.Errorf("the instance is taken at %s", got.by)
			}
			var patch map[string]any
			if got.mark != nil {
				patch = got.mark(&api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: test.known}})
			}
			var want map[string]any
			if test.marks != nil {
				want = map[string]any{"metadata": map[string]any{"annotations": test.marks}}
			}
			if !reflect.DeepEqual(patch, want) {
				t.Errorf("the claim gets %v, want %v", patch, want)
			}
		})
	}
}

func TestAbout(t *testing.T) {
	claim := func(name, id, reservation string) api.NodeClaim {
		made := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
		if id != "" {
			made.Status.ProviderID = api.ProviderID("us-east-1a", id)
		}
		made.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
		if reservation != "" {
			made.Labels[api.LabelCapacityReservationID] = reservation
		}
		return made
	}
	claims := []api.NodeClaim{claim("a", "i-1", ""), claim("b", "i-2", "cr-1"), claim("c", "i-3", "cr-1"), claim("d", "", ""), claim("e", "i-11", "cr-2"), claim("f", "i-12", "cr-1")}
	claims[5].Spec.NodeClassRef = &api.NodeClassReference{Group: "eks.amazonaws.com", Kind: "NodeClass", Name: "default"}
	for _, test := range []struct {
		name   string
		detail events.Detail
		want   string
	}{
		{"an event about an instance is about its claim", &events.SpotInterruption{InstanceID: "i-1"}, "a"},
		{"an event about somebody else's instance is about none", &events.SpotInterruption{InstanceID: "i-4"}, ""},
		{"an event about another controller's instance is about none", &events.SpotInterruption{InstanceID: "i-12"}, ""},
		{"maintenance is about every instance that it names", &events.ScheduledChange{InstanceIDs: []string{"i-1", "i-3", "i-9"}}, "ac"},
		{"a capacity block is about all who use it", &events.CapacityBlockExpiration{ReservationID: "cr-1"}, "bc"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			for _, claim := range about(test.detail, ownAmong(claims)) {
				got += claim.Name
			}
			if got != test.want {
				t.Errorf("about %q, want %q", got, test.want)
			}
		})
	}
}

func TestAClaimWhoseEndIsOrderedIsNotEndedAgain(t *testing.T) {
	at := metav1.Now()
	deleted := &affectedClaim{claim: &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &at}}}
	spot := respond(events.Event{Detail: &events.SpotInterruption{InstanceID: "i-1"}}, at.Time)
	deleted.add(&message{}, spot)
	if got := deleted.responses[0]; got.end || got.notice.reason != "" || !got.look || !got.shortage {
		t.Errorf("got %+v", got)
	}
	living := &affectedClaim{claim: &api.NodeClaim{}}
	living.add(&message{}, spot)
	if got := living.responses[0]; !got.end || got.notice != spot.notice || !living.ends() || !living.isShort() {
		t.Errorf("got %+v", got)
	}
}

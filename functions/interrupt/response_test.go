package main

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/api"
)

func TestRespond(t *testing.T) {
	state := func(state events.State) events.Detail { return &events.StateChange{InstanceID: "i-1", State: state} }
	for _, test := range []struct {
		name                string
		detail              events.Detail
		reason              string
		end, shortage, look bool
	}{
		{name: "a spot interruption ends the node, and its offering is short", detail: &events.SpotInterruption{InstanceID: "i-1", Action: events.ActionTerminate}, reason: "SpotInterrupted", end: true, shortage: true},
		{name: "a hibernation is an interruption", detail: &events.SpotInterruption{InstanceID: "i-1", Action: events.ActionHibernate}, reason: "SpotInterrupted", end: true, shortage: true},
		{name: "a rebalance recommendation is told of, and no more", detail: &events.RebalanceRecommendation{InstanceID: "i-1"}, reason: "SpotRebalanceRecommendation"},
		{name: "an instance that is stopping ends its node", detail: state(events.StateStopping), reason: "InstanceStopping", end: true},
		{name: "an instance that has stopped ends its node", detail: state(events.StateStopped), reason: "InstanceStopping", end: true},
		{name: "an instance that is shutting down ends its node", detail: state(events.StateShuttingDown), reason: "InstanceTerminating", end: true, look: true},
		{name: "an instance that has ended ends its node", detail: state(events.StateTerminated), reason: "InstanceTerminating", end: true, look: true},
		{name: "an instance that runs will join soon", detail: state(events.StateRunning), look: true},
		{name: "an instance that is pending is no news", detail: state(events.StatePending)},
		{name: "scheduled maintenance ends the node", detail: &events.ScheduledChange{InstanceIDs: []string{"i-1"}, Status: events.HealthStatusOpen}, reason: "InstanceUnhealthy", end: true},
		{name: "maintenance of the older shape has no status and is open", detail: &events.ScheduledChange{InstanceIDs: []string{"i-1"}}, reason: "InstanceUnhealthy", end: true},
		{name: "maintenance that is over is no news", detail: &events.ScheduledChange{InstanceIDs: []string{"i-1"}, Status: events.HealthStatusClosed}},
		{name: "a reservation that is taken back ends the node", detail: &events.CapacityReservationInterruption{InstanceID: "i-1"}, reason: "CapacityReservationInstanceInterrupted", end: true},
		{name: "a capacity block that ends, ends its nodes", detail: &events.CapacityBlockExpiration{ReservationID: "cr-1"}, reason: "CapacityReservationInstanceInterrupted", end: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := respond(test.detail)
			if got.notice.reason != test.reason || got.end != test.end || got.shortage != test.shortage || got.look != test.look {
				t.Errorf("got %+v", got)
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
			for _, claim := range about(test.detail, claims) {
				got += claim.Name
			}
			if got != test.want {
				t.Errorf("about %q, want %q", got, test.want)
			}
		})
	}
}

func TestAClaimWhoseEndIsOrderedIsNotEndedAgain(t *testing.T) {
	deleted := &api.NodeClaim{}
	at := metav1.Now()
	deleted.DeletionTimestamp = &at
	spot := respond(&events.SpotInterruption{InstanceID: "i-1"})
	if got := affectedBy(nil, deleted, spot).response; got.end || got.notice.reason != "" || !got.look || !got.shortage {
		t.Errorf("got %+v", got)
	}
	if got := affectedBy(nil, &api.NodeClaim{}, spot).response; got != spot {
		t.Errorf("got %+v", got)
	}
}

package response_test

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/functions/interrupt/response"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

func TestEffectOf(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	state := func(state events.State) events.Detail { return &events.StateChange{InstanceID: "i-1", State: state} }
	change := func(status events.HealthStatus, ahead time.Duration) events.Detail {
		return &events.ScheduledChange{
			InstanceIDs: []string{"i-1"},
			Status:      status,
			StartTime:   now.Add(ahead),
			EventARN:    "arn:a",
		}
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
		{name: "a spot interruption ends the node, and its offering is short",
			detail: &events.SpotInterruption{InstanceID: "i-1", Action: events.ActionTerminate},
			reason: "SpotInterrupted", end: true, shortage: true},
		{name: "a hibernation is an interruption",
			detail: &events.SpotInterruption{InstanceID: "i-1", Action: events.ActionHibernate},
			reason: "SpotInterrupted", end: true, shortage: true},
		{name: "a rebalance recommendation is remembered",
			detail: &events.RebalanceRecommendation{InstanceID: "i-1"}, reason: "SpotRebalanceRecommendation",
			marks: map[string]any{disruption.RebalanceRecommendedAnnotationKey: "2026-03-01T11:59:00Z"}},
		{name: "a rebalance recommendation that is known is not written again",
			detail: &events.RebalanceRecommendation{InstanceID: "i-1"}, reason: "SpotRebalanceRecommendation",
			known: map[string]string{disruption.RebalanceRecommendedAnnotationKey: "2026-03-01T11:30:00Z"}},
		{name: "an instance that is stopping ends its node",
			detail: state(events.StateStopping), reason: "InstanceStopping", end: true, look: true},
		{name: "an instance that has stopped ends its node",
			detail: state(events.StateStopped), reason: "InstanceStopping", end: true, look: true},
		{name: "an instance that is shutting down ends its node",
			detail: state(events.StateShuttingDown), reason: "InstanceTerminating", end: true, look: true},
		{name: "an instance that has ended ends its node",
			detail: state(events.StateTerminated), reason: "InstanceTerminating", end: true, look: true},
		{name: "an instance that runs", detail: state(events.StateRunning)},
		{name: "an instance that is pending is no news", detail: state(events.StatePending)},
		{name: "maintenance weeks ahead is remembered",
			detail: change(events.HealthStatusUpcoming, 14*day), reason: "InstanceUnhealthy",
			marks: map[string]any{
				disruption.DepartsAtAnnotationKey:      "2026-03-15T12:00:00Z",
				disruption.DepartsBecauseAnnotationKey: "arn:a",
			}},
		{name: "the copy from the backup region is not written again",
			detail: change(events.HealthStatusUpcoming, 14*day), reason: "InstanceUnhealthy",
			known: map[string]string{
				disruption.DepartsAtAnnotationKey:      "2026-03-15T12:00:00Z",
				disruption.DepartsBecauseAnnotationKey: "arn:a",
			}},
		{name: "maintenance that is put off is written anew",
			detail: change(events.HealthStatusUpcoming, 14*day), reason: "InstanceUnhealthy",
			known: map[string]string{
				disruption.DepartsAtAnnotationKey:      "2026-03-10T12:00:00Z",
				disruption.DepartsBecauseAnnotationKey: "arn:a",
			},
			marks: map[string]any{
				disruption.DepartsAtAnnotationKey:      "2026-03-15T12:00:00Z",
				disruption.DepartsBecauseAnnotationKey: "arn:a",
			}},
		{name: "the first of two departures counts",
			detail: change(events.HealthStatusUpcoming, 14*day), reason: "InstanceUnhealthy",
			known: map[string]string{
				disruption.DepartsAtAnnotationKey:      "2026-03-10T12:00:00Z",
				disruption.DepartsBecauseAnnotationKey: "arn:b",
			}},
		{name: "maintenance that is near ends the node by its start",
			detail: change(events.HealthStatusOpen, 50*minute),
			reason: "InstanceUnhealthy", end: true, by: 50 * minute},
		{name: "maintenance that has begun ends the node",
			detail: change(events.HealthStatusOpen, -hour), reason: "InstanceUnhealthy", end: true, by: -hour},
		{name: "maintenance at no known time ends the node",
			detail: &events.ScheduledChange{InstanceIDs: []string{"i-1"}}, reason: "InstanceUnhealthy", end: true},
		{name: "maintenance that is over is forgotten", detail: change(events.HealthStatusClosed, 14*day),
			known: map[string]string{
				disruption.DepartsAtAnnotationKey:      "2026-03-15T12:00:00Z",
				disruption.DepartsBecauseAnnotationKey: "arn:a",
			},
			marks: map[string]any{
				disruption.DepartsAtAnnotationKey: nil, disruption.DepartsBecauseAnnotationKey: nil,
				api.DepartureWithdrawnAnnotationKey: "2026-03-01T11:59:00Z arn:a",
			}},
		{name: "other maintenance that is over takes nothing back", detail: change(events.HealthStatusClosed, 14*day),
			known: map[string]string{
				disruption.DepartsAtAnnotationKey:      "2026-03-15T12:00:00Z",
				disruption.DepartsBecauseAnnotationKey: "arn:b",
			},
			marks: map[string]any{api.DepartureWithdrawnAnnotationKey: "2026-03-01T11:59:00Z arn:a"}},
		{name: "a withdrawal that is known", detail: change(events.HealthStatusClosed, 14*day),
			known: map[string]string{api.DepartureWithdrawnAnnotationKey: "2026-03-01T11:59:00Z arn:a"}},
		{name: "a reservation that is taken back ends the node by then",
			detail: &events.CapacityReservationInterruption{InstanceID: "i-1", TerminationTime: now.Add(2 * minute)},
			reason: "CapacityReservationInstanceInterrupted", end: true, shortage: true, by: 2 * minute},
		{name: "a capacity block ends its nodes before EC2 does, 30 minutes before its end",
			detail: block(40 * minute), reason: "CapacityReservationInstanceInterrupted", end: true, by: 10 * minute},
		{name: "a capacity block that ends at no known time ends its nodes",
			detail: &events.CapacityBlockExpiration{ReservationID: "cr-1"},
			reason: "CapacityReservationInstanceInterrupted", end: true},
		{name: "a capacity block that ends later is remembered",
			detail: block(2 * hour), reason: "CapacityReservationInstanceInterrupted",
			marks: map[string]any{
				disruption.DepartsAtAnnotationKey:      "2026-03-01T13:30:00Z",
				disruption.DepartsBecauseAnnotationKey: "cr-1",
			}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := response.EffectOf(events.Event{Time: now.Add(-minute), Detail: test.detail}, now)
			if got.Notice.Reason != test.reason || got.End != test.end || got.Shortage != test.shortage ||
				got.Look != test.look {
				t.Errorf("got %+v", got)
			}
			if test.by == 0 && !got.By.IsZero() || test.by != 0 && !got.By.Equal(now.Add(test.by)) {
				t.Errorf("the instance is taken at %s", got.By)
			}
			var patch map[string]any
			if got.Mark != nil {
				patch = got.Mark(&api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: test.known}})
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

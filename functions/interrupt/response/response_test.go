package response_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/functions/interrupt/response"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// claim is a claim of an EC2NodeClass whose instance may use a capacity reservation.
func claim(name, instance, reservation string) api.NodeClaim {
	made := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelInstanceTypeStable: "m5.large", corev1.LabelTopologyZone: "us-east-1a",
	}}}
	if instance != "" {
		made.Status.ProviderID = api.ProviderID("us-east-1a", instance)
	}
	made.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
	if reservation != "" {
		made.Labels[api.LabelCapacityReservationID] = reservation
	}
	return made
}

func batch(details ...events.Detail) []events.Event {
	made := make([]events.Event, len(details))
	for i, detail := range details {
		made[i] = events.Event{Time: now, Detail: detail}
	}
	return made
}

func TestEventsAreAboutTheClaimsThatTheyName(t *testing.T) {
	claims := []api.NodeClaim{
		claim("a", "i-1", ""), claim("b", "i-2", "cr-1"), claim("c", "i-3", "cr-1"), claim("d", "", ""),
		claim("e", "i-11", "cr-2"), claim("f", "i-12", "cr-1"),
	}
	claims[5].Spec.NodeClassRef = &api.NodeClassReference{Group: "eks.amazonaws.com", Kind: "NodeClass", Name: "default"}
	for _, test := range []struct {
		name   string
		detail events.Detail
		want   string
	}{
		{"an event about an instance is about its claim", &events.SpotInterruption{InstanceID: "i-1"}, "a"},
		{"an event about a foreign instance is about none", &events.SpotInterruption{InstanceID: "i-4"}, ""},
		{"an event about another controller's instance is about none", &events.SpotInterruption{InstanceID: "i-12"}, ""},
		{"maintenance is about each instance that it names",
			&events.ScheduledChange{InstanceIDs: []string{"i-1", "i-3", "i-9"}}, "ac"},
		{"a capacity block is about all claims that use it", &events.CapacityBlockExpiration{ReservationID: "cr-1"}, "bc"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			for _, one := range response.Decide(batch(test.detail), claims, response.Evidence{}, now) {
				got += one.Claim.Name
			}
			if got != test.want {
				t.Errorf("about %q, want %q", got, test.want)
			}
		})
	}
}

func TestAClaimThatIsBeingDeletedIsNotDeletedAgain(t *testing.T) {
	warned := batch(&events.SpotInterruption{InstanceID: "i-1"})
	deleted := claim("a", "i-1", "")
	deleted.DeletionTimestamp = &metav1.Time{Time: now}
	got := response.Decide(warned, []api.NodeClaim{deleted}, response.Evidence{}, now)[0]
	if got.Ends || len(got.Steps) > 0 || len(got.Notices) > 0 || len(got.Records(nil)) > 0 {
		t.Errorf("a deleted claim gets %+v", got)
	}
	if want := []response.Cause{{Event: 0, Look: true, Shortage: true}}; !slices.Equal(got.Causes, want) {
		t.Errorf("causes %+v, want %+v", got.Causes, want)
	}
	got = response.Decide(warned, []api.NodeClaim{claim("a", "i-1", "")}, response.Evidence{}, now)[0]
	if want := (response.End{DetailType: warned[0].Detail.DetailType(), Reason: "SpotInterrupted"}); !got.Ends ||
		len(got.Steps) != 1 || got.Steps[0] != want {
		t.Errorf("a live claim gets %+v", got)
	}
}

func TestAClaimsStepsMarkBeforeTheyEnd(t *testing.T) {
	got := response.Decide(batch(&events.RebalanceRecommendation{InstanceID: "i-1"},
		&events.CapacityReservationInterruption{InstanceID: "i-1", TerminationTime: now.Add(5 * time.Minute)},
		&events.CapacityReservationInterruption{InstanceID: "i-1", TerminationTime: now.Add(2 * time.Minute)},
	), []api.NodeClaim{claim("a", "i-1", "cr-1")}, response.Evidence{}, now)[0]
	var steps []string
	for _, step := range got.Steps {
		switch step := step.(type) {
		case response.PatchClaim:
			steps = append(steps, step.Purpose)
		case response.End:
			steps = append(steps, "end")
		}
	}
	want := []string{
		`writing down the event "EC2 Instance Rebalance Recommendation"`,
		"writing down the end at 2026-03-01 12:02:00 +0000 UTC", "end",
	}
	if !slices.Equal(steps, want) {
		t.Errorf("steps %q, want %q", steps, want)
	}
	var records []string
	for _, record := range got.Records(&corev1.Node{}) {
		records = append(records, record.About.Kind+" "+record.Reason)
	}
	joined := strings.Join(records, ", ")
	if joined != "NodeClaim SpotRebalanceRecommendation, Node SpotRebalanceRecommendation, "+
		"NodeClaim CapacityReservationInstanceInterrupted, Node CapacityReservationInstanceInterrupted, "+
		"NodeClaim TerminatingOnInterruption, Node TerminatingOnInterruption" {
		t.Errorf("records %s", joined)
	}
}

// TestAnInterruptedReservationAloneIsMarked: other reservations of the type in the zone stay.
func TestAnInterruptedReservationAloneIsMarked(t *testing.T) {
	of := claim("a", "i-1", "cr-1")
	of.Labels[api.CapacityTypeLabelKey] = api.CapacityTypeReserved
	warned := batch(&events.CapacityReservationInterruption{InstanceID: "i-1"})
	responses := response.Decide(warned, []api.NodeClaim{of}, response.Evidence{}, now)
	marks := response.Unavailable(responses, now)
	if len(marks.Until) != 1 || !marks.HasReservation("cr-1", now) || marks.HasReservation("cr-2", now) {
		t.Errorf("marks %+v", marks)
	}
}

func TestOfferingsThatEC2TakesBackAreMarked(t *testing.T) {
	responses := response.Decide(batch(
		&events.SpotInterruption{InstanceID: "i-1"}, &events.StateChange{InstanceID: "i-2", State: events.StateStopping},
	), []api.NodeClaim{claim("a", "i-1", ""), claim("b", "i-2", "")}, response.Evidence{}, now)
	marks := response.Unavailable(responses, now)
	if len(marks.Until) != 1 || !marks.Has(api.CapacityTypeSpot, "m5.large", "us-east-1a", now) {
		t.Errorf("marks %+v", marks)
	}
	later := now.Add(catalog.UnavailableFor)
	for _, test := range []struct {
		name  string
		known *catalog.Unavailable
		at    time.Time
		want  bool
	}{
		{"a new mark", &catalog.Unavailable{}, now, true},
		{"a mark of a moment ago", marks, now, false},
		{"a mark that ends soon", marks, later.Add(-time.Second), true},
	} {
		if got := response.NeedsMark(test.known, marks, test.at); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

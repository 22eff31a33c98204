package timeline_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/console/timeline"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/nodestate"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func lane(t *testing.T, day *timeline.Timeline, step nodestate.Step) timeline.Lane {
	t.Helper()
	at := slices.IndexFunc(day.Lanes, func(l timeline.Lane) bool { return l.Step == step })
	if at < 0 {
		t.Fatalf("no lane of %q in %+v", step, day.Lanes)
	}
	return day.Lanes[at]
}

// TestLinesBecomeLanes counts lines of the day, and leaves out those of other times and other messages.
func TestLinesBecomeLanes(t *testing.T) {
	at := func(before time.Duration) time.Time { return noon.Add(-before) }
	day := timeline.Of([]timeline.Line{
		{Start: at(2 * time.Hour), Message: "launched nodeclaim", Level: "INFO", Count: 3, Claim: "a"},
		{Start: at(2 * time.Hour), Message: "launched nodeclaim", Level: "WARN", Count: 2, Claim: "b"},
		{Start: at(15 * time.Minute), Message: "launched nodeclaim", Level: "INFO", Count: 1, Claim: "c\x1b[31m"},
		{Start: at(time.Hour), Message: "deleting expired nodeclaim", Level: "INFO", Count: 1, Claim: "d"},
		{Start: at(time.Hour), Message: "the invocation failed", Level: "ERROR", Count: 4, Why: "no answer"},
		{Start: at(time.Hour), Message: "counted nodes", Level: "INFO", Count: 9},
		{Start: at(25 * time.Hour), Message: "launched nodeclaim", Level: "INFO", Count: 7},
		{Start: at(-time.Hour), Message: "launched nodeclaim", Level: "INFO", Count: 7},
		{Start: at(time.Hour), Message: "launched nodeclaim", Level: "INFO", Count: -7},
	}, noon)
	launched := lane(t, day, nodestate.StepLaunched)
	if launched.Total != 6 || len(launched.Parts) != 2 || launched.Parts[0].Count != 5 {
		t.Errorf("launches are %+v", launched)
	}
	if failed := lane(t, day, nodestate.StepFailed); failed.Total != 4 {
		t.Errorf("failures are %+v", failed)
	}
	if expired := lane(t, day, nodestate.StepExpired); expired.Total != 1 {
		t.Errorf("expiries are %+v", expired)
	}
	if quiet := lane(t, day, nodestate.StepInterrupted); quiet.Total != 0 || quiet.Parts != nil {
		t.Errorf("interruptions are %+v", quiet)
	}
	if slices.ContainsFunc(day.Lanes, func(l timeline.Lane) bool { return l.Step == nodestate.StepUnhealthy }) {
		t.Error("a step that rarely happens has a lane on a day without it")
	}
	if len(day.Last) != 5 || day.Last[0].Claim != "c[31m" || day.Last[0].Start != at(15*time.Minute) {
		t.Errorf("the last entries are %+v", day.Last)
	}
	failed := day.Last[slices.IndexFunc(day.Last, func(e timeline.Entry) bool { return e.Step == nodestate.StepFailed })]
	if failed.Why != "the invocation failed: no answer" {
		t.Errorf("the failure is %+v", failed)
	}
}

// TestTheOrderOfLinesDoesNotMatter gives the same lines in another order.
func TestTheOrderOfLinesDoesNotMatter(t *testing.T) {
	var lines []timeline.Line
	for i, message := range timeline.Messages() {
		lines = append(lines, timeline.Line{
			Start: noon.Add(-time.Duration(i%3) * time.Hour), Message: message, Level: "INFO", Count: i + 1, Claim: "c",
		})
	}
	one := timeline.Of(slices.Clone(lines), noon)
	slices.Reverse(lines)
	other := timeline.Of(lines, noon)
	if len(one.Last) == 0 || !slices.Equal(one.Last, other.Last) {
		t.Errorf("%+v and %+v", one.Last, other.Last)
	}
	if len(timeline.Messages()) < 8 || slices.Contains(timeline.Messages(), "registered nodeclaim") {
		t.Errorf("the messages are %q", timeline.Messages())
	}
}

// TestWithoutLogsTheClaimsTell has a claim that was launched today, one of last week, and one that leaves.
func TestWithoutLogsTheClaimsTell(t *testing.T) {
	claim := func(name string, launched time.Duration) api.NodeClaim {
		made := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
		made.Status.Conditions = []metav1.Condition{{
			Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(noon.Add(-launched)),
		}}
		return made
	}
	leaves := claim("leaves", 100*time.Hour)
	deleted := metav1.NewTime(noon.Add(-time.Minute))
	leaves.DeletionTimestamp = &deleted
	day := timeline.OfClaims([]api.NodeClaim{claim("new", time.Hour), claim("old", 100*time.Hour), leaves}, noon)
	if lane(t, day, nodestate.StepLaunched).Total != 1 || lane(t, day, nodestate.StepDraining).Total != 1 {
		t.Errorf("%+v", day.Lanes)
	}
	var names []string
	for _, entry := range day.Last {
		names = append(names, entry.Claim)
	}
	if got := strings.Join(names, " "); got != "leaves new" {
		t.Errorf("the last are %q", got)
	}
}

package widget

import (
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/functions/console/timeline"
)

// TestTheLastDayIsTold has launches of yesterday and of now, and a failure with a text to escape.
func TestTheLastDayIsTold(t *testing.T) {
	shown := small()
	shown.Past = timeline.Of([]timeline.Line{
		{Start: now.Add(-15 * time.Hour), Message: "launched nodeclaim", Level: "INFO", Count: 12, Claim: "default-a"},
		{Start: now.Add(-15 * time.Minute), Message: "launched nodeclaim", Level: "INFO", Count: 3, Claim: "default-b"},
		{Start: now.Add(-time.Hour), Message: "the invocation failed", Level: "ERROR", Count: 1, Why: "<b>x</b>"},
	}, now)
	shown.Past.Source = "From the logs."
	html := render(t, shown, Options{Cluster: "prod"})
	text := plain(html)
	for _, want := range []string{
		"What happened last 24 hours, UTC launched 15 interrupted 0 moved 0 terminated 0 failed 1 24 h ago 12 h now",
		"11:45 launched 3× default-b", "11:00 failed the invocation failed: <b>x</b>", "Feb 28 21:00 launched 12× default-a",
		"From the logs.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	lanes := pastOf(shown).Lanes
	if got := lanes[0].Label(); got != "launched: 15 in the last day, the last about 11:45 UTC" {
		t.Error(got)
	}
	// The largest bar has the lane's height, the others less, and none leaves the lane.
	if want := "M108.0 16V0.0H111.0V16ZM285.0 16V9.0H288.0V16Z"; lanes[0].Bars != want {
		t.Errorf("the bars are %s, want %s", lanes[0].Bars, want)
	}
	if lanes[1].Bars != "" || !strings.Contains(lanes[1].Label(), "none") {
		t.Errorf("%+v", lanes[1])
	}
}

// TestADayThatIsNotReadIsNotQuiet holds that what was not read is not shown as nothing.
func TestADayThatIsNotReadIsNotQuiet(t *testing.T) {
	const quiet = "No node came or went, and no function failed."
	shown := small()
	if text := plain(render(t, shown, Options{Cluster: "prod"})); strings.Contains(text, "What happened") {
		t.Errorf("a page without a last day has one:\n%s", text)
	}
	shown.Past = timeline.Of(nil, now)
	if text := plain(render(t, shown, Options{Cluster: "prod"})); !strings.Contains(text, quiet) {
		t.Errorf("a quiet day is not said:\n%s", text)
	}
	shown.Past = timeline.OfClaims(nil, now)
	shown.Past.Problem = "The logs are not read: AccessDenied"
	text := plain(render(t, shown, Options{Cluster: "prod"}))
	if strings.Contains(text, quiet) || strings.Contains(text, "failed 0") || !strings.Contains(text, "AccessDenied") {
		t.Errorf("a day that is not read:\n%s", text)
	}
}

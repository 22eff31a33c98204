package widget

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/status"
)

// dayOf is a day of 96 quarters with a price that doubles at noon, without the samples of the night.
func dayOf() []status.Sample {
	var day []status.Sample
	for i := range 96 {
		sample := status.Sample{Start: now.Add(-24*time.Hour + time.Duration(i)*status.SampleEvery)}
		if i < 20 || i >= 40 {
			price, count, waited := 1.5, 10, 4.0
			if i >= 48 {
				price, count = 3, 20
			}
			if i == 60 {
				waited = 312
			}
			sample.PricePerHour, sample.Nodes, sample.PendingSeconds = &price, &count, &waited
		}
		day = append(day, sample)
	}
	return day
}

func TestTheDayIsDrawn(t *testing.T) {
	shown := small()
	shown.Day = dayOf()
	text := plain(render(t, shown, Options{Cluster: "prod"}))
	for _, want := range []string{
		"Last day Price of nodes now $0.0971/h, at most $3.0000/h 24 h ago 12 h now",
		"Whittle's nodes now 1, at most 20", "Oldest pending pod now 90s, at most 5m12s",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	price := charts(shown)[0]
	if want := "M0.0 24.0H3.0V24.0H6.0"; !strings.HasPrefix(price.Line, want) {
		t.Errorf("the line begins %.40s, want %s", price.Line, want)
	}
	if gaps := strings.Count(price.Line, "M"); gaps != 2 || strings.Count(price.Area, "Z") != 2 {
		t.Errorf("the night without samples is no gap: %s", price.Line)
	}
	if !strings.HasSuffix(price.Line, "V1.0H288.0") {
		t.Errorf("the line ends %s", price.Line[len(price.Line)-20:])
	}
}

// TestChartsAgreeWithTheCards compares what both say of the same moment, where the last sample is another.
func TestChartsAgreeWithTheCards(t *testing.T) {
	shown := small()
	shown.Day, shown.Waiting = dayOf(), nil
	for pool, card := range map[string]string{"": "Price of nodes $0.0971 /h", "gpu": "Price of nodes $0.0000 /h"} {
		text := plain(render(t, shown, Options{Cluster: "prod", NodePool: pool}))
		for _, want := range []string{
			card, "Price of nodes now $0.0971/h", "Pending pods 0", "Oldest pending pod now none, at most 5m12s",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("pool %q: lacks %q:\n%s", pool, want, text)
			}
		}
	}
	shown.PricePerHour = 7 // more than any sample
	if text := plain(render(t, shown, Options{})); !strings.Contains(text, "now $7.0000/h, at most $7.0000/h") {
		t.Errorf("the most is less than now:\n%s", text)
	}
}

func TestADayThatTellsNothingIsLeftOut(t *testing.T) {
	infinite, some := math.Inf(1), 1.0
	for name, day := range map[string][]status.Sample{
		"none":       nil,
		"one sample": {{Start: now.Add(-time.Hour), PricePerHour: &some}},
		"no figures": {{Start: now.Add(-time.Hour)}, {Start: now.Add(-2 * time.Hour)}},
		"infinite":   {{Start: now.Add(-2 * time.Hour), PricePerHour: &infinite}, {Start: now.Add(-time.Hour), PricePerHour: &some}},
		"another day": {
			{Start: now.Add(-50 * time.Hour), PricePerHour: &some}, {Start: now.Add(50 * time.Hour), PricePerHour: &some},
		},
	} {
		shown := small()
		shown.Day = day
		if drawn := charts(shown); len(drawn) > 0 {
			t.Errorf("%s: %+v", name, drawn)
		}
	}
}

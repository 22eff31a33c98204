package widget

import (
	"fmt"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/functions/console/timeline"
	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/nodestate"
)

// laneHeight is that of a lane's own coordinates, and barWidth the width of a quarter of an hour in them.
const (
	laneHeight = 16
	barWidth   = float64(chartWidth) * float64(timeline.Every) / float64(timeline.Day)
	// leastBar is the height of the smallest bar, so that a single end beside a hundred is seen.
	leastBar = 4.0
	// longestName and longestWhy are the most characters of an entry of the list. The logs have all.
	longestName = 63
	longestWhy  = 200
)

// past is the last day by steps.
type past struct {
	Lanes           []lane
	Last            []pastEntry
	Source, Problem string
}

// lane is a step over the day.
type lane struct {
	Step, Tone string
	Total      int
	// Bars is the path of its bars; empty for a lane without any.
	Bars string
	last string
}

// Label is what a reader hears who does not see the bars.
func (l lane) Label() string {
	if l.Total == 0 {
		return l.Step + ": none in the last day"
	}
	return fmt.Sprintf("%s: %d in the last day, the last about %s UTC", l.Step, l.Total, l.last)
}

// Width and Height are those of the lane's coordinates.
func (l lane) Width() int  { return chartWidth }
func (l lane) Height() int { return laneHeight }

// pastEntry is what happened last in a quarter of an hour.
type pastEntry struct{ Time, Step, Tone, Times, Claim, Why string }

// stepTone returns the CSS class of a step.
func stepTone(step nodestate.Step) string {
	switch step {
	case nodestate.StepFailed, nodestate.StepRefused, nodestate.StepUnhealthy:
		return "bad"
	case nodestate.StepInterrupted:
		return "warn"
	case nodestate.StepLaunched:
		return "good"
	}
	return "busy"
}

// pastOf draws the last day. It is nil for a view without one.
func pastOf(shown *view.View) *past {
	day := shown.Past
	if day == nil {
		return nil
	}
	made := &past{Source: day.Source, Problem: day.Problem}
	for _, one := range day.Lanes {
		made.Lanes = append(made.Lanes, laneOf(one, day.Until))
	}
	for _, entry := range day.Last {
		row := pastEntry{
			Time: timeOf(entry.Start, day.Until), Step: string(entry.Step), Tone: stepTone(entry.Step),
			Claim: printable.Short(entry.Claim, longestName), Why: printable.Short(entry.Why, longestWhy),
		}
		if entry.Count > 1 {
			row.Times = fmt.Sprintf("%d×", entry.Count)
		}
		made.Last = append(made.Last, row)
	}
	return made
}

// timeOf writes a time of the last day, with its date unless it is of today.
func timeOf(at, now time.Time) string {
	if now = now.UTC(); at.YearDay() != now.YearDay() {
		return at.Format("Jan 2 15:04")
	}
	return at.Format("15:04")
}

func laneOf(of timeline.Lane, until time.Time) lane {
	made := lane{Step: string(of.Step), Tone: stepTone(of.Step), Total: of.Total}
	most := 1
	for _, part := range of.Parts {
		most = max(most, part.Count)
	}
	var bars strings.Builder
	for _, part := range of.Parts {
		from := chartWidth * (1 - float64(until.Sub(part.Start))/float64(timeline.Day))
		to := min(from+barWidth, chartWidth)
		if from = max(from, 0); to <= from {
			continue
		}
		height := leastBar + (laneHeight-leastBar)*float64(part.Count)/float64(most)
		fmt.Fprintf(&bars, "M%.1f %dV%.1fH%.1fV%dZ", from, laneHeight, laneHeight-height, to, laneHeight)
		made.last = timeOf(part.Start, until)
	}
	made.Bars = bars.String()
	return made
}

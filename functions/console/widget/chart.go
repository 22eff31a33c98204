package widget

import (
	"fmt"
	"math"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/status"
)

const (
	// chartWidth and chartHeight are those of a chart's own coordinates. The page stretches them.
	chartWidth, chartHeight = 288, 48
	// chartDay is what a chart shows. It ends now.
	chartDay = 24 * time.Hour
	// leastSamples is how many samples a chart needs to tell more than a figure does.
	leastSamples = 2
)

// chart is a figure over the last day.
type chart struct {
	Name, Class string
	// Now is the value that the rest of the page shows, and Most the greatest one.
	Now, Most string
	// Line is the path of the values, and Area the one that it encloses with the axis.
	Line, Area string
}

// Label is what a reader hears who does not see the chart.
func (c chart) Label() string {
	return fmt.Sprintf("%s over the last day: %s now, %s at most", c.Name, c.Now, c.Most)
}

// Width and Height are those of the chart's coordinates.
func (c chart) Width() int  { return chartWidth }
func (c chart) Height() int { return chartHeight }

// charts are the price, the nodes and the longest wait of a pod over the last day. They are about the
// whole cluster, as the view must be. The figures of now are those of the view: the last sample may be a
// minute old, and that of a wait is the longest one in a quarter of an hour.
func charts(shown *view.View) []chart {
	var all []chart
	add := func(name, class string, now float64, text func(float64) string, value func(*status.Sample) *float64) {
		if made, ok := chartOf(shown.Day, shown.Time, now, value); ok {
			made.Name, made.Class = name, class
			made.Now, made.Most = text(now), text(made.most)
			all = append(all, made.chart)
		}
	}
	add("Price of nodes", "price", shown.PricePerHour, func(value float64) string { return fmt.Sprintf("$%.4f/h", value) },
		func(sample *status.Sample) *float64 { return sample.PricePerHour })
	whole := func(value float64) string { return fmt.Sprintf("%.0f", value) }
	add("Whittle's nodes", "count", float64(shown.Instances), whole,
		func(sample *status.Sample) *float64 {
			if sample.Nodes == nil {
				return nil
			}
			count := float64(*sample.Nodes)
			return &count
		})
	oldest := 0.0
	if len(shown.Waiting) > 0 { // the first pod has waited longest
		oldest = max(0, shown.Time.Sub(shown.Waiting[0].Created).Seconds())
	}
	add("Oldest pending pod", "waiting", oldest, func(value float64) string {
		if value == 0 {
			return "none"
		}
		return duration.HumanDuration(time.Duration(value * float64(time.Second)))
	}, func(sample *status.Sample) *float64 { return sample.PendingSeconds })
	return all
}

// drawn is a chart without its texts.
type drawn struct {
	chart
	most float64
}

// chartOf draws the values in steps. Where a sample is missing the line has a gap, because nobody
// measured. The greatest value, which may be the current one, is the height of the chart. It returns false
// where there is too little to draw.
func chartOf(
	day []status.Sample, now time.Time, current float64, value func(*status.Sample) *float64,
) (drawn, bool) {
	type step struct{ from, to, value float64 }
	var steps []step
	made := drawn{most: current}
	for i := range day {
		of, start := value(&day[i]), chartWidth*(1-float64(now.Sub(day[i].Start))/float64(chartDay))
		end := min(start+chartWidth*float64(status.SampleEvery)/float64(chartDay), chartWidth)
		if of == nil || end <= 0 || start >= chartWidth || math.IsNaN(*of) || math.IsInf(*of, 0) {
			continue
		}
		steps = append(steps, step{max(start, 0), end, *of})
		made.most = max(made.most, *of)
	}
	if len(steps) < leastSamples {
		return drawn{}, false
	}
	scale := chartHeight - 2.0 // room for the line's width
	if made.most > 0 {
		scale /= made.most
	}
	var line, area strings.Builder
	for i, s := range steps {
		height := chartHeight - 1 - s.value*scale
		continues := i > 0 && s.from-steps[i-1].to < 0.5
		if continues {
			fmt.Fprintf(&line, "V%.1fH%.1f", height, s.to)
			fmt.Fprintf(&area, "V%.1fH%.1f", height, s.to)
		} else {
			fmt.Fprintf(&line, "M%.1f %.1fH%.1f", s.from, height, s.to)
			fmt.Fprintf(&area, "M%.1f %dV%.1fH%.1f", s.from, chartHeight, height, s.to)
		}
		if i == len(steps)-1 || steps[i+1].from-s.to >= 0.5 {
			fmt.Fprintf(&area, "V%dZ", chartHeight)
		}
	}
	made.Line, made.Area = line.String(), area.String()
	return made, true
}

package report

import (
	"fmt"
	"math"
	"strings"
)

// The chart's measures, in pixels of its own coordinates.
const (
	chartHeight = 720
	plotLeft    = 64
	plotMargin  = 16
	plotHeight  = 220
	speedTop    = 76
	priceTop    = 424
	// leastPlotWidth is for few groups; many have groupWidth each, which four bars need for their
	// numbers.
	leastPlotWidth = 880
	groupWidth     = 100
)

// chartStyle uses greys and colours that stand out against white and against black, for viewers
// that say nothing of what they prefer.
const chartStyle = `<style>
text{font:12px system-ui,sans-serif;fill:#768390}
.title{font-size:15px;font-weight:600}
.value{font-size:9.5px;text-anchor:middle}
.end{text-anchor:end}
.middle{text-anchor:middle}
.grid{stroke:#768390;stroke-opacity:.3}
.one{stroke:#768390}
.whittle{fill:#2f81f7}
.karpenter{fill:#d2762b}
.spot{fill-opacity:.55}
@media (prefers-color-scheme:light){text{fill:#424a53}}
@media (prefers-color-scheme:dark){text{fill:#b1bac4}}
</style>
`

// Chart draws, for the workloads that come in sizes, how many times faster Whittle is (on a
// logarithmic scale) and both planners' prices relative to the lower bound. Equal reports give
// equal charts.
func (r *Report) Chart() string {
	groups := chartGroups(r.rows(false))
	var b strings.Builder
	width := max(leastPlotWidth, groupWidth*len(groups))
	fmt.Fprintf(
		&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="Speed and price of Whittle's planner and Karpenter's scheduler">`+"\n",
		plotLeft+width+plotMargin,
		chartHeight,
	)
	b.WriteString(chartStyle)
	drawSpeed(&b, groups, width)
	drawPrice(&b, groups, width)
	fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text>`+"\n", plotLeft, chartHeight-10,
		escape(fmt.Sprintf("%s; Karpenter %s; %d instance types", r.Machine, r.Karpenter, r.InstanceTypes)))
	b.WriteString("</svg>\n")
	return b.String()
}

// chartGroup are the rows of one workload and size: one for each way to buy.
type chartGroup struct {
	workload string
	pods     int
	rows     []*Row
}

func chartGroups(rows []*Row) []chartGroup {
	var groups []chartGroup
	for _, row := range rows {
		if n := len(groups); n == 0 || groups[n-1].workload != row.Workload || groups[n-1].pods != row.Pods {
			groups = append(groups, chartGroup{workload: row.Workload, pods: row.Pods})
		}
		last := &groups[len(groups)-1]
		last.rows = append(last.rows, row)
	}
	return groups
}

// bar is one bar of a group.
type bar struct {
	value float64
	class string
	label string
}

func class(planner string, row *Row) string {
	if len(row.CapacityTypes) > 1 {
		return planner + " spot"
	}
	return planner
}

func drawSpeed(b *strings.Builder, groups []chartGroup, width int) {
	title(
		b,
		speedTop,
		"How many times faster Whittle plans (logarithmic)",
		[][2]string{{"whittle", "on-demand"}, {"whittle spot", "spot and on-demand"}},
	)
	bars := make([][]bar, len(groups))
	least, most := 1.0, 10.0
	for i := range groups {
		for _, row := range groups[i].rows {
			speed := row.speed()
			bars[i] = append(
				bars[i],
				bar{speed, class("whittle", row), strings.TrimSpace(over(median(row.Karpenter).TimedOut)) + times(speed)},
			)
			least, most = min(least, speed), max(most, speed)
		}
	}
	bottom, top := math.Floor(math.Log10(least)), math.Ceil(math.Log10(most))
	scale := func(value float64) float64 { return (math.Log10(value) - bottom) / (top - bottom) }
	for decade := bottom; decade <= top; decade++ {
		line(b, speedTop, width, scale(math.Pow(10, decade)), decade == 0, fmt.Sprintf("%g×", math.Pow(10, decade)))
	}
	drawBars(b, speedTop, width, groups, bars, 1, scale)
}

func drawPrice(b *strings.Builder, groups []chartGroup, width int) {
	title(b, priceTop, "Price of the fleet, relative to the lower bound", [][2]string{
		{
			"whittle",
			"Whittle, on-demand",
		}, {"whittle spot", "with spot"}, {"karpenter", "Karpenter, on-demand"}, {"karpenter spot", "with spot"},
	})
	bars := make([][]bar, len(groups))
	most := 1.5
	for i := range groups {
		for _, row := range groups[i].rows {
			for _, side := range []struct {
				planner string
				outcome Outcome
			}{{"whittle", median(row.Whittle)}, {"karpenter", median(row.Karpenter)}} {
				ratio, ok := row.inBound(side.outcome)
				if !ok {
					// A plan that is not finished has no price; its place stays empty.
					bars[i] = append(bars[i], bar{value: 0, label: "–"})
					continue
				}
				bars[i] = append(bars[i], bar{ratio, class(side.planner, row), fmt.Sprintf("%.2f", ratio)})
				most = max(most, ratio)
			}
		}
	}
	top := math.Ceil(most*2) / 2
	scale := func(value float64) float64 { return value / top }
	for value := 0.0; value <= top; value += 0.5 {
		line(b, priceTop, width, scale(value), value == 1, fmt.Sprintf("%.1f", value))
	}
	drawBars(b, priceTop, width, groups, bars, 0, scale)
}

func title(b *strings.Builder, top int, text string, legend [][2]string) {
	fmt.Fprintf(b, `<text class="title" x="%d" y="%d">%s</text>`+"\n", plotLeft, top-46, escape(text))
	x := plotLeft
	for _, entry := range legend {
		fmt.Fprintf(
			b,
			`<rect class="%s" x="%d" y="%d" width="12" height="12" rx="2"/><text x="%d" y="%d">%s</text>`+"\n",
			entry[0],
			x,
			top-34,
			x+18,
			top-24,
			escape(entry[1]),
		)
		x += 36 + 7*len(entry[1])
	}
}

// line is a line of the grid at a height between 0 and 1 of the plot.
func line(b *strings.Builder, top, width int, height float64, one bool, label string) {
	y, style := float64(top)+plotHeight*(1-height), "grid"
	if one {
		style = "one"
	}
	fmt.Fprintf(
		b,
		`<line class="%s" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text class="end" x="%d" y="%.1f">%s</text>`+"\n",
		style,
		plotLeft,
		plotLeft+width,
		y,
		y,
		plotLeft-8,
		y+4,
		label,
	)
}

// drawBars draws each group's bars from the base value to their own, with the group's name
// underneath.
func drawBars(
	b *strings.Builder,
	top, width int,
	groups []chartGroup,
	bars [][]bar,
	base float64,
	scale func(float64) float64,
) {
	if len(groups) == 0 {
		return
	}
	across := float64(width) / float64(len(groups))
	position := func(value float64) float64 { return float64(top) + plotHeight*(1-scale(value)) }
	for i := range groups {
		left := plotLeft + across*float64(i)
		each := min(across*0.88/float64(len(bars[i])), 40)
		start := left + (across-each*float64(len(bars[i])))/2
		for j, bar := range bars[i] {
			x := start + each*float64(j)
			low, high := position(base), position(base)
			if bar.value > 0 {
				high = position(bar.value)
				fmt.Fprintf(
					b,
					`<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="2"/>`,
					bar.class,
					x+1,
					min(low, high),
					each-2,
					math.Abs(low-high),
				)
			}
			fmt.Fprintf(b, `<text class="value" x="%.1f" y="%.1f">%s</text>`+"\n", x+each/2, min(low, high)-4, escape(bar.label))
		}
		fmt.Fprintf(
			b,
			`<text class="middle" x="%.1f" y="%d">%s</text><text class="middle" x="%.1f" y="%d">%s pods</text>`+"\n",
			left+across/2,
			top+plotHeight+18,
			escape(groups[i].workload),
			left+across/2,
			top+plotHeight+34,
			count(uint64(groups[i].pods)),
		)
	}
}

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(text)
}

package report

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

func outcome(wall time.Duration, price float64, leftOut int) Outcome {
	return Outcome{
		Cost:         Cost{Wall: wall, CPU: 2 * wall, Allocations: uint64(wall), Bytes: 1 << 30},
		Nodes:        3,
		PricePerHour: price,
		LeftOut:      leftOut,
	}
}

func example() *Report {
	unfinished := outcome(time.Minute, 1, 400)
	unfinished.TimedOut = true
	return &Report{
		InstanceTypes: 700, Limit: time.Minute, Workers: 2, Machine: "2 cores", Karpenter: "v1", Kubernetes: "v0",
		Arguments: []string{"-out", "x", "-workloads", "node pools", "-out=y"},
		Rows: []Row{
			{
				Workload:          "diverse",
				Description:       "many <kinds>",
				CapacityTypes:     []string{"on-demand"},
				Pods:              500,
				LowerBoundPerHour: 1,
				WithFee:           WithFee{Karpenter: 4, Whittle: 3, LowerBound: 2.5},
				Karpenter: []Outcome{
					outcome(time.Second, 2, 0),
				},
				Whittle: []Outcome{
					outcome(50*time.Millisecond, 1, 0),
					outcome(10*time.Millisecond, 1.1, 0),
					outcome(time.Millisecond, 1, 0),
				},
			},
			{Workload: "diverse", CapacityTypes: []string{"spot", "on-demand"}, Pods: 500, LowerBoundPerHour: 1,
				Karpenter: []Outcome{unfinished}, Whittle: []Outcome{outcome(10*time.Millisecond, 1.2, 0)}},
			{Workload: "volumes", CapacityTypes: []string{"on-demand"}, Features: true, Pods: 300, LowerBoundPerHour: 1,
				Karpenter: []Outcome{outcome(time.Second, 2, 1)}, Whittle: []Outcome{outcome(2*time.Second, 1.5, 0)}},
		},
	}
}

func TestRatiosAreOfMedians(t *testing.T) {
	row := &example().Rows[0]
	if got := row.speed(); got != 100 {
		t.Errorf("speed %g", got)
	}
	if got := row.allocations(); got != 100 {
		t.Errorf("allocations %g", got)
	}
	if price, ok := row.price(); !ok || price != 0.55 {
		t.Errorf("price %g, %t", price, ok)
	}
}

func TestPricesAreComparedOfEqualPlansOnly(t *testing.T) {
	rows := example().Rows
	for _, i := range []int{1, 2} {
		if price, ok := rows[i].price(); ok {
			t.Errorf("%s: price %g compared", rows[i].Workload, price)
		}
	}
	if _, ok := rows[2].inBound(median(rows[2].Karpenter)); ok {
		t.Error("a plan that leaves more pods out is set against the bound")
	}
}

func TestMarkdown(t *testing.T) {
	text := example().Markdown()
	for _, want := range []string{
		"| diverse | 500 | on-demand | 1.00 s | 2.00 s | 10.0 ms | 20.0 ms | 100× | 100× |\n",
		"| diverse | 500 | spot and on-demand | > 60.0 s | 120.0 s | 10.0 ms | 20.0 ms | > 6000× | > 6000× |\n",
		"| diverse | 500 | on-demand | 1,000,000,000 | 1.0 GiB | 10,000,000 | 1.0 GiB | 100× |\n",
		"| diverse | 500 | on-demand | 2.0000 | 3 | 0 | 1.1000 | 3 | 0 | 1.0000 | 0.550 | 1.100 | 2.000 | 0.750 | 1.200 |\n",
		"| diverse | 500 | spot and on-demand | unfinished | 3 | 400 | 1.2000 | 3 | 0 | 1.0000 |  | 1.200 |  |  |  |\n",
		"| volumes | 300 | on-demand | 2.0000 | 3 | 1 | 1.5000 | 3 | 0 | 1.0000 |  | 1.500 |  |  |  |\n",
		`make bench-peer arguments="-workloads 'node pools'"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if again := example().Markdown(); again != text {
		t.Error("a second page differs")
	}
}

func TestChartIsWellFormedAndRepeatable(t *testing.T) {
	text := example().Chart()
	decoder := xml.NewDecoder(strings.NewReader(text))
	bars := 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if element, ok := token.(xml.StartElement); ok && element.Name.Local == "rect" {
			bars++
		}
	}
	// Six of the legends, two of speed, three of price: the plan that is not finished has none.
	if bars != 11 {
		t.Errorf("%d bars in\n%s", bars, text)
	}
	if !strings.Contains(text, "&gt;6000×") || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Errorf("values are missing or wrong in\n%s", text)
	}
	if again := example().Chart(); again != text {
		t.Error("a second chart differs")
	}
}

func TestReportsWithoutRows(t *testing.T) {
	empty := &Report{}
	if text := empty.Chart() + empty.Markdown(); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Errorf("an empty report says\n%s", text)
	}
}

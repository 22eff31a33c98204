package metrics_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/metrics"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func recorder(out *bytes.Buffer) *metrics.Recorder {
	return metrics.NewRecorder("prod", out, func() time.Time { return noon })
}

func TestWriteUsesTheEmbeddedMetricFormat(t *testing.T) {
	var out bytes.Buffer
	recorder(&out).Write(
		metrics.Count(metrics.PodsPending, 3),
		metrics.Value{Name: metrics.LaunchSeconds, Numbers: []float64{1.5, 2}},
		metrics.Value{Name: metrics.Launches})
	want := `{"Cluster":"prod","LaunchSeconds":[1.5,2],"PodsPending":3,` +
		`"_aws":{"CloudWatchMetrics":[{"Namespace":"Whittle","Dimensions":[["Cluster"]],` +
		`"Metrics":[{"Name":"PodsPending","Unit":"Count"},{"Name":"LaunchSeconds","Unit":"Seconds"}]}],` +
		`"Timestamp":1772366400000}}` + "\n"
	if out.String() != want {
		t.Errorf("wrote %s\nwant  %s", out.String(), want)
	}
}

func TestEachSeriesHasItsLine(t *testing.T) {
	var out bytes.Buffer
	recorder(&out).Write(
		metrics.CountOf(metrics.Nodes, "spot", 2),
		metrics.CountOf(metrics.Nodes, "on-demand", 0),
		metrics.Count(metrics.DollarsPerHour, 0.5))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want one for each series:\n%s", len(lines), out.String())
	}
	for i, parts := range [][]string{
		{`"CapacityType":"spot"`, `"Nodes":2`, `[["Cluster","CapacityType"]]`},
		{`"CapacityType":"on-demand"`, `"Nodes":0`},
		{`"DollarsPerHour":0.5`, `[["Cluster"]]`},
	} {
		for _, part := range parts {
			if !strings.Contains(lines[i], part) {
				t.Errorf("line %s does not have %s", lines[i], part)
			}
		}
	}
}

// TestFormerNamesKeepWorking checks that alarms on an earlier name still get values.
func TestFormerNamesKeepWorking(t *testing.T) {
	var out bytes.Buffer
	recorder(&out).Write(metrics.Count(metrics.Standby, 1))
	for _, part := range []string{`"Standby":1`, `"StoodBack":1`, `{"Name":"StoodBack","Unit":"Count"}`} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("line %s does not have %s", out.String(), part)
		}
	}
}

// TestAnUnknownReasonMakesNoSeries holds the cost, because CloudWatch bills each series.
func TestAnUnknownReasonMakesNoSeries(t *testing.T) {
	for reason, want := range map[string]string{"AWSHealth": "Other", "Empty": "Empty"} {
		if got := metrics.CountOf(metrics.DisruptionSavedDollars, reason, 1).Series; got != want {
			t.Errorf("the reason %s has the series %q, want %q", reason, got, want)
		}
	}
}

func TestWriteSkipsEmptyValues(t *testing.T) {
	var out bytes.Buffer
	recorder(&out).Write()
	recorder(&out).Write(metrics.Value{Name: metrics.Launches})
	recorder(&out).Write(metrics.Count(metrics.DollarsPerHour, math.Inf(1))) // JSON cannot write infinity
	if out.Len() > 0 {
		t.Errorf("wrote %s", out.String())
	}
	var none *metrics.Recorder
	none.Write(metrics.Count(metrics.Launches, 1))
}

func TestALineHasAtMostAHundredValues(t *testing.T) {
	var out bytes.Buffer
	recorder(&out).Write(metrics.Value{Name: metrics.LaunchSeconds, Numbers: make([]float64, 200)})
	var line struct{ LaunchSeconds []float64 }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || len(line.LaunchSeconds) != 100 {
		t.Errorf("%d values, %v", len(line.LaunchSeconds), err)
	}
}

func TestMetricsAreFewAndDistinct(t *testing.T) {
	series, seen := 0, map[metrics.Name]bool{}
	for _, metric := range metrics.All() {
		if seen[metric.Name] {
			t.Errorf("%s is there twice", metric.Name)
		}
		seen[metric.Name] = true
		if metric.Unit == "" || len(metric.Functions) == 0 || metric.Meaning == "" {
			t.Errorf("%+v lacks its unit, functions or meaning", metric)
		}
		if (metric.Dimension == "") != (len(metric.Series) == 0) {
			t.Errorf("%s has the dimension %q and the series %q", metric.Name, metric.Dimension, metric.Series)
		}
		series += max(1, len(metric.Series))
	}
	if series > metrics.MaximumSeries {
		t.Errorf("a cluster has %d series, want at most %d", series, metrics.MaximumSeries)
	}
}

// TestFewMetricsHaveNoValuesOnAQuietDay holds the cost of the default, because CloudWatch bills a series for each
// hour with a value.
func TestFewMetricsHaveNoValuesOnAQuietDay(t *testing.T) {
	if series := metrics.DetailFew.Series(); series != 0 {
		t.Errorf("%d series have values all the time", series)
	}
	for _, test := range []struct {
		name   metrics.Name
		number float64
		want   bool
	}{
		{metrics.OldestPodPending, 299, false}, {metrics.OldestPodPending, 300, true},
		{metrics.CatalogAge, 12*3600 - 1, false}, {metrics.CatalogAge, 12 * 3600, true},
		{metrics.Standby, 1, true}, {metrics.LaunchFailures, 1, true}, {metrics.DollarsPerHour, 9, false},
	} {
		var few, full bytes.Buffer
		recorder(&few).Limited(metrics.DetailFew).Write(metrics.Count(test.name, test.number))
		recorder(&full).Write(metrics.Count(test.name, test.number))
		if got := few.Len() > 0; got != test.want || full.Len() == 0 {
			t.Errorf("%s of %g is written: %t with few, want %t; %t with full",
				test.name, test.number, got, test.want, full.Len() > 0)
		}
	}
}

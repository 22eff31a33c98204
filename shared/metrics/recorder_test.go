package metrics

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func recorder(out *bytes.Buffer) *Recorder {
	return NewRecorder("prod", out, func() time.Time { return noon })
}

func TestALineIsWhatCloudWatchTakes(t *testing.T) {
	var out bytes.Buffer
	recorder(&out).Write(Count(PodsPending, 3), Value{Name: LaunchSeconds, Numbers: []float64{1.5, 2}}, Value{Name: Launches})
	want := `{"Cluster":"prod","LaunchSeconds":[1.5,2],"PodsPending":3,"_aws":{"CloudWatchMetrics":[{"Namespace":"Whittle","Dimensions":[["Cluster"]],` +
		`"Metrics":[{"Name":"PodsPending","Unit":"Count"},{"Name":"LaunchSeconds","Unit":"Seconds"}]}],"Timestamp":1772366400000}}` + "\n"
	if out.String() != want {
		t.Errorf("wrote %s\nwant  %s", out.String(), want)
	}
}

func TestEachSeriesHasItsLine(t *testing.T) {
	var out bytes.Buffer
	recorder(&out).Write(CountOf(Nodes, "spot", 2), CountOf(Nodes, "on-demand", 0), Count(DollarsPerHour, 0.5))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want one for each series:\n%s", len(lines), out.String())
	}
	for i, parts := range [][]string{
		{`"CapacityType":"spot"`, `"Nodes":2`, `[["Cluster","CapacityType"]]`}, {`"CapacityType":"on-demand"`, `"Nodes":0`}, {`"DollarsPerHour":0.5`, `[["Cluster"]]`},
	} {
		for _, part := range parts {
			if !strings.Contains(lines[i], part) {
				t.Errorf("line %s does not have %s", lines[i], part)
			}
		}
	}
}

// TestAReasonThatIsNotKnownMakesNoSeries: each would be billed.
func TestAReasonThatIsNotKnownMakesNoSeries(t *testing.T) {
	if got := CountOf(DisruptionSavedDollars, "AWSHealth", 1).Of; got != "Other" {
		t.Errorf("counts as %q", got)
	}
	if got := CountOf(DisruptionSavedDollars, "Empty", 1).Of; got != "Empty" {
		t.Errorf("counts as %q", got)
	}
}

func TestNothingIsWrittenWhereThereIsNothing(t *testing.T) {
	var out bytes.Buffer
	recorder(&out).Write()
	recorder(&out).Write(Value{Name: Launches})
	recorder(&out).Write(Count(DollarsPerHour, math.Inf(1))) // JSON has no word for it
	if out.Len() > 0 {
		t.Errorf("wrote %s", out.String())
	}
	var none *Recorder
	none.Write(Count(Launches, 1))
}

func TestMoreValuesThanALineHoldsAreCut(t *testing.T) {
	var out bytes.Buffer
	recorder(&out).Write(Value{Name: LaunchSeconds, Numbers: make([]float64, 2*maximumNumbers)})
	var line struct{ LaunchSeconds []float64 }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || len(line.LaunchSeconds) != maximumNumbers {
		t.Errorf("%d values, %v", len(line.LaunchSeconds), err)
	}
}

func TestTheMetricsAreFewAndToldApart(t *testing.T) {
	series, seen := 0, map[Name]bool{}
	for _, metric := range All() {
		if seen[metric.Name] {
			t.Errorf("%s is there twice", metric.Name)
		}
		seen[metric.Name] = true
		if metric.Unit == "" || metric.Function == "" || metric.Meaning == "" || (metric.Dimension == "") != (len(metric.Series) == 0) {
			t.Errorf("%+v lacks something", metric)
		}
		series += max(1, len(metric.Series))
	}
	if series > MaximumSeries {
		t.Errorf("a cluster has %d series, want at most %d", series, MaximumSeries)
	}
}

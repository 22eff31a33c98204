package metrics

import (
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"time"
)

// Value is a metric's value, or its values of one moment.
type Value struct {
	Name Name
	// Of is the value of the metric's own dimension, such as spot; empty for a metric that has none.
	Of      string
	Numbers []float64
}

// maximumNumbers is how many values of one metric CloudWatch takes from a line.
const maximumNumbers = 100

// Recorder writes a cluster's numbers. A nil one writes nothing.
type Recorder struct {
	cluster string
	out     io.Writer
	now     func() time.Time
}

// NewRecorder writes to out, which Lambda makes the function's log of: the standard output.
func NewRecorder(cluster string, out io.Writer, now func() time.Time) *Recorder {
	return &Recorder{cluster: cluster, out: out, now: now}
}

// Count is one value.
func Count(name Name, number float64) Value { return Value{Name: name, Numbers: []float64{number}} }

// CountOf is one value of a series of the metric. One that the metric does not have counts as Other.
func CountOf(name Name, of string, number float64) Value {
	if series := definition(name).Series; !slices.Contains(series, of) && slices.Contains(series, reasonOther) {
		of = reasonOther
	}
	return Value{Name: name, Of: of, Numbers: []float64{number}}
}

// Write writes the values: one line for those without a dimension of their own, and one for each value of such. A
// number that cannot be written is logged; nothing depends on it.
func (r *Recorder) Write(values ...Value) {
	if r == nil {
		return
	}
	var ofs []string
	for _, value := range values {
		if len(value.Numbers) > 0 && !slices.Contains(ofs, value.Of) {
			ofs = append(ofs, value.Of)
		}
	}
	for _, of := range ofs {
		if err := r.line(of, values); err != nil {
			slog.Warn("numbers are not written", "error", err)
		}
	}
}

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []metricDefinition
}

type metricDefinition struct {
	Name Name
	Unit string
}

// line writes the values of one series.
func (r *Recorder) line(of string, values []Value) error {
	document := map[string]any{ClusterDimension: r.cluster}
	written := directive{Namespace: Namespace, Dimensions: [][]string{{ClusterDimension}}}
	for _, value := range values {
		if value.Of != of || len(value.Numbers) == 0 {
			continue
		}
		known := definition(value.Name)
		written.Metrics = append(written.Metrics, metricDefinition{Name: value.Name, Unit: known.Unit})
		if of != "" {
			written.Dimensions[0] = []string{ClusterDimension, known.Dimension}
			document[known.Dimension] = of
		}
		document[string(value.Name)] = value.Numbers[0]
		if len(value.Numbers) > 1 {
			document[string(value.Name)] = value.Numbers[:min(len(value.Numbers), maximumNumbers)]
		}
	}
	document["_aws"] = map[string]any{"Timestamp": r.now().UnixMilli(), "CloudWatchMetrics": []directive{written}}
	line, err := json.Marshal(document)
	if err != nil {
		return err
	}
	// One write, so that no other line comes between.
	_, err = r.out.Write(append(line, '\n'))
	return err
}

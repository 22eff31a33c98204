package metrics

import (
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"time"
)

// Value holds the values of one series of a metric at one moment.
type Value struct {
	Name Name
	// Series is the value of the metric's own dimension, such as spot. It is empty for a metric
	// with one series.
	Series  string
	Numbers []float64
}

// maximumNumbers is the number of values of one metric that CloudWatch reads from a line.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
const maximumNumbers = 100

// Recorder writes the values of a cluster's metrics. A nil Recorder writes nothing.
type Recorder struct {
	cluster string
	detail  Detail
	pools   []string
	out     io.Writer
	now     func() time.Time
}

// NewRecorder returns a Recorder that writes lines to out. A function passes its standard output,
// which Lambda copies to the function's log.
func NewRecorder(cluster string, out io.Writer, now func() time.Time) *Recorder {
	return &Recorder{cluster: cluster, detail: DetailFull, out: out, now: now}
}

// Limited returns a Recorder that writes the metrics of a detail alone.
func (r *Recorder) Limited(detail Detail) *Recorder {
	limited := *r
	limited.detail = detail
	return &limited
}

// ForPools returns a Recorder that also writes the metrics of the named NodePools.
func (r *Recorder) ForPools(pools []string) *Recorder {
	of := *r
	of.pools = pools
	return &of
}

// Pools are the NodePools with metrics of their own.
func (r *Recorder) Pools() []string {
	if r == nil {
		return nil
	}
	return r.pools
}

// Count returns one value of a metric with one series.
func Count(name Name, number float64) Value { return Value{Name: name, Numbers: []float64{number}} }

// CountOf returns one value of a series. A series that the metric does not have becomes Other,
// where the metric has that, so that no new series is billed.
func CountOf(name Name, series string, number float64) Value {
	if known := definition(name).Series; !slices.Contains(known, series) && slices.Contains(known, reasonOther) {
		series = reasonOther
	}
	return Value{Name: name, Series: series, Numbers: []float64{number}}
}

// Denied counts a call that IAM refuses and that no work waits for. The alarm on errors counts it.
func (r *Recorder) Denied() { r.Write(Count(FailedMessages, 1)) }

// Write writes the values: one line for all values without a series, and one for each series. A
// value without numbers is skipped. A line that cannot be written is logged.
func (r *Recorder) Write(values ...Value) {
	if r == nil {
		return
	}
	values = r.written(values)
	var all []string
	for _, value := range values {
		if len(value.Numbers) > 0 && !slices.Contains(all, value.Series) {
			all = append(all, value.Series)
		}
	}
	for _, series := range all {
		if err := r.writeLine(series, values); err != nil {
			slog.Warn("metrics not written", "error", err)
		}
	}
}

// written returns the values that the Recorder's detail has.
func (r *Recorder) written(values []Value) []Value {
	var written []Value
	for _, value := range values {
		known := definition(value.Name)
		if known.Dimension == NodePoolDimension {
			if slices.Contains(r.pools, value.Series) {
				written = append(written, value)
			}
			continue
		}
		if !r.detail.Has(known) {
			continue
		}
		value.Numbers = slices.DeleteFunc(slices.Clone(value.Numbers), func(number float64) bool {
			return !r.detail.Writes(known, number)
		})
		written = append(written, value)
	}
	return written
}

// directive and metricDefinition are parts of the embedded metric format.
type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []metricDefinition
}

type metricDefinition struct {
	Name Name
	Unit string
}

// writeLine writes those of the values that belong to a series.
func (r *Recorder) writeLine(series string, values []Value) error {
	document := map[string]any{ClusterDimension: r.cluster}
	written := directive{Namespace: Namespace, Dimensions: [][]string{{ClusterDimension}}}
	for _, value := range values {
		if value.Series != series || len(value.Numbers) == 0 {
			continue
		}
		known := definition(value.Name)
		if series != "" {
			written.Dimensions[0] = []string{ClusterDimension, known.Dimension}
			document[known.Dimension] = series
		}
		for _, name := range []Name{known.Name, known.FormerName} {
			if name != "" {
				written.Metrics = append(written.Metrics, metricDefinition{Name: name, Unit: known.Unit})
				document[string(name)] = encoded(value.Numbers)
			}
		}
	}
	document["_aws"] = map[string]any{"Timestamp": r.now().UnixMilli(), "CloudWatchMetrics": []directive{written}}
	line, err := json.Marshal(document)
	if err != nil {
		return err
	}
	// One call of Write keeps the lines of concurrent writers apart.
	_, err = r.out.Write(append(line, '\n'))
	return err
}

// encoded returns the values as the format has them: one as a number, several as a list.
func encoded(numbers []float64) any {
	if len(numbers) == 1 {
		return numbers[0]
	}
	return numbers[:min(len(numbers), maximumNumbers)]
}

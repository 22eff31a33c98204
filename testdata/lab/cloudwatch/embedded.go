package cloudwatch

import (
	"encoding/json"
	"time"
)

// Embedded reads a metric's values from a log line in the embedded metric format. It returns none
// for other lines and other series.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
func Embedded(line string, metric Metric) (values []float64, at time.Time) {
	var meta struct {
		AWS struct {
			Timestamp         int64
			CloudWatchMetrics []struct {
				Namespace  string
				Dimensions [][]string
				Metrics    []struct{ Name string }
			}
		} `json:"_aws"`
	}
	var members map[string]any
	if json.Unmarshal([]byte(line), &meta) != nil || meta.AWS.Timestamp == 0 ||
		json.Unmarshal([]byte(line), &members) != nil {
		return nil, time.Time{}
	}
	for _, directive := range meta.AWS.CloudWatchMetrics {
		if directive.Namespace != metric.Namespace || !anySet(directive.Dimensions, members, metric.Dimensions) {
			continue
		}
		for _, written := range directive.Metrics {
			if written.Name != metric.Name {
				continue
			}
			switch value := members[metric.Name].(type) {
			case float64:
				values = append(values, value)
			case []any:
				for _, one := range value {
					if number, ok := one.(float64); ok {
						values = append(values, number)
					}
				}
			}
		}
	}
	return values, time.UnixMilli(meta.AWS.Timestamp)
}

// anySet reports whether one of the sets of dimensions, with the line's values, is the wanted one.
func anySet(sets [][]string, members map[string]any, wanted map[string]string) bool {
	for _, set := range sets {
		same := len(set) == len(wanted)
		for _, name := range set {
			same = same && members[name] == wanted[name]
		}
		if same {
			return true
		}
	}
	return false
}

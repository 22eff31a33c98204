// Package metrics defines Whittle's CloudWatch metrics and writes their values.
//
// The values go to the function's log in CloudWatch's embedded metric format. CloudWatch turns such
// lines into metrics, so no call and no right are needed.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
//
// Its place: functions write values through a Recorder; infra builds the dashboard and the alarms
// from the same names. The table of README.md is generated from All.
//
// Invariants:
//   - All lists every metric, and a cluster has at most MaximumSeries series of them, and the former
//     name of Standby while Karpenter acts.
//   - No decision depends on a metric. A value that cannot be written is logged and dropped.
package metrics

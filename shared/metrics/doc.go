// Package metrics writes Whittle's numbers to the functions' logs in CloudWatch's embedded metric format, and says what
// numbers there are. CloudWatch makes metrics of such lines; no call is made for them, and no right needed.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
package metrics

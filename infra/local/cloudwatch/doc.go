// Package cloudwatch keeps the alarms and dashboards that stacks make, and tells which alarms ring by the metrics of the
// local AWS: as much of CloudWatch as the local run needs. There are no calls.
package cloudwatch

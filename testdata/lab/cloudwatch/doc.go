// Package cloudwatch keeps the alarms and dashboards of stacks. It evaluates alarms with the
// metrics of the local AWS, as far as the local run needs that. It answers no calls.
package cloudwatch

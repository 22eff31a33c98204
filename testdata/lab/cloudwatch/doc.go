// Package cloudwatch keeps the alarms and dashboards of stacks. It evaluates alarms with the
// metrics of the local AWS, as far as the local run needs that. People may have alarms beside them. The
// package answers calls about the states of all, which people set, and announces each change.
package cloudwatch

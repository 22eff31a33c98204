// Package scheduler is the local account's EventBridge Scheduler: rate schedules, whose targets are
// SQS queues and Lambda functions. A function is invoked as an event with the role of the target.
//
// A schedule runs at once and then once every period. AWS documents it so ("starts invoking the
// target immediately", https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html).
// AWS runs a schedule somewhere within its minute; here it runs at the beginning, or as Jitter says.
//
// Everything else is refused by name: cron and at, groups, time zones, first and last dates,
// flexible windows, dead-letter queues. A refused delivery (no such queue, no right) is logged and
// lost. Local failures are permanent, so there is no retry. Lambda retries the function itself.
package scheduler

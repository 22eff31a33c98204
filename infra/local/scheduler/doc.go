// Package scheduler is the local account's EventBridge Scheduler: rate, cron and at schedules in
// groups. Their targets are SQS queues and Lambda functions, which are invoked as events with the
// role of the target.
//
// A rate schedule without a start date runs at once and then once every period. AWS documents it so
// ("starts invoking the target immediately",
// https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html). AWS runs a schedule
// somewhere within its minute; here it runs at the beginning. A flexible time window allows any
// moment in it; here it is the first.
//
// A refused delivery (no such queue, no right) goes to the target's dead-letter queue at once.
// Local failures are permanent, so there is no retry. Lambda retries the function itself.
package scheduler

// Package scheduler is the local account's EventBridge Scheduler: rate, cron and at schedules in groups, whose targets are Lambda
// functions (invoked as events, with the role of the target) and SQS queues.
//
// A rate schedule without a start date runs at once when it is created and then once every period, as AWS documents ("starts invoking the
// target immediately", https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html). AWS runs a schedule somewhere
// within its minute; here it runs at the beginning. A flexible time window allows any moment in it: here it is the first.
//
// What a target refuses (no such queue, no right) goes to the target's dead-letter queue at once: nothing local fails for a while
// only, so there is nothing to retry for. Lambda retries the function itself.
package scheduler

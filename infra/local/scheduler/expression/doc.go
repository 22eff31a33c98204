// Package expression understands EventBridge's schedule expressions: rate(5 minutes), cron(0 12 ? *
// MON-FRI *) and at(2026-11-21T10:00:00). See
// https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
package expression

// Package eventbridge is the local account's default event bus: rules with event patterns or schedules, and their targets, SQS queues
// and Lambda functions.
//
// Patterns are complete: literals, prefix, suffix, equals-ignore-case, wildcard, anything-but, numeric, exists, cidr and $or, over
// nested objects and arrays. Deliveries are judged as on AWS: a queue by its queue policy, a function by its permissions; what a target
// refuses goes to the target's dead-letter queue. Nothing local fails for a while only, so a RetryPolicy is kept and never used.
//
// Events of AWS services (source aws.ec2) come in through Service.Put; the PutEvents API refuses such sources, as AWS does.
package eventbridge

// Package eventbridge is the local account's default event bus: rules with event patterns or
// schedules, and their targets, SQS queues and Lambda functions.
//
// Patterns are complete: literals, prefix, suffix, equals-ignore-case, wildcard, anything-but,
// numeric, exists, cidr and $or, over nested objects and arrays. A queue policy decides about a
// delivery to a queue, and a function's permissions about one to a function, as on AWS. A refused
// delivery goes to the target's dead-letter queue. Local failures are permanent, so a RetryPolicy
// is stored and never used.
//
// Events of AWS services (source aws.ec2) enter through Service.Put. The PutEvents API refuses such
// sources, as AWS does.
package eventbridge

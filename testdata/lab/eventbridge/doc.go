// Package eventbridge is the local account's default event bus: rules with event patterns, and SQS
// queues as their targets.
//
// A pattern is an object of lists of literals, over nested objects. Operators, schedules, other
// targets and transformed inputs are refused by name. A queue's policy decides about a delivery, as
// on AWS. A refused delivery is logged, and comes to the target's dead-letter queue, or is lost.
//
// Events of AWS services (source aws.ec2) enter through Service.Put. The PutEvents API refuses such
// sources, as AWS does.
package eventbridge

// Package sqs is the local account's Simple Queue Service: standard queues in memory, spoken to by the JSON protocol.
//
// What a consumer can notice is kept: delays of a queue and of a single message, visibility timeouts, receive counts,
// dead-letter queues, retention, long polling, batches with single failures, receipt handles that go stale, and delivery
// more than once (see Service.DuplicateEvery). A message that becomes visible wakes its waiting receivers at once.
//
// What is left out says so when it is asked for: FIFO queues, encryption keys, fair-queue groups. Access to a queue by another
// service is judged by its queue policy, as on AWS.
package sqs

// Package sqs is the local account's Simple Queue Service: standard queues in memory with the JSON
// protocol.
//
// It keeps everything that a consumer can notice: delays of queues and messages, visibility
// timeouts, receive counts, dead-letter queues, retention, long polling, partial failures of
// batches, stale receipt handles, and duplicates (see Service.DuplicateEvery). A message that
// becomes visible wakes its waiting receivers at once.
//
// FIFO queues, encryption keys and fair-queue groups are refused by name. The queue policy decides
// about other services' access, as on AWS.
package sqs

// Package queue has the messages with which Whittle's functions wake each other through SQS, and
// sends them. It is an edge package.
//
// A message says only that there is something to look at. The woken function reads the cluster
// itself, so that a message may be lost, repeated or late.
//
// Invariant: a message from outside leads to a chain of at most MaximumHops more, because only
// Message.Next continues one.
package queue

// Package queue has the messages with which Whittle's functions wake each other through SQS, and
// sends them. It is an edge package.
//
// A message says only that there is something to look at. The woken function reads the cluster
// itself, so that a message may be lost, repeated or late.
package queue

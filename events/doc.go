// Package events decodes the EventBridge events about EC2 instances: spot interruptions, rebalance
// recommendations, state changes, scheduled maintenance, and the end of reserved capacity.
//
// Its place: functions/interrupt decodes each message of its queue. The package imports no other
// package of this module. A real sample of each event is in the file of the same name.
//
// Invariants:
//   - EventBridge delivers the events of a whole account, at least once and in no order. An event
//     names neither the cluster of an instance nor its tags.
//   - Decoding is strict about the fields that decide, the instance and its state. It is lenient
//     where AWS's events and documentation disagree.
//   - A decoding error is final: decoding the same event again returns the same error.
package events

// Package events decodes the EventBridge events that say what happens to EC2
// instances: spot interruptions, rebalance recommendations, state changes, scheduled
// maintenance, and the end of reserved capacity.
//
// EventBridge gives the events of a whole account, at least once and in no order, and
// says neither which cluster an instance belongs to nor what its tags are. Decoding is
// strict about what decides, the instance and its state, and lenient where AWS's own
// events and pages disagree. Beside each type lies a sample of its event.
package events

// Package interrupt acts on EventBridge events about instances. It takes nodes out of use that EC2
// is about to take, and wakes the functions that replace and drain them.
//
// The handler decodes a batch of messages and wakes the other functions (handler.go). It finds the
// NodeClaims that the events are about (read.go). Package response decides what the events mean for
// each claim. The performer carries the steps out (perform.go) and decides nothing.
//
// Beside these it takes orders: events by which others freeze or thaw (order.go). They are written where
// people write theirs, also during standby.
//
// Every call may be the last one of an invocation. The message then comes back, and a repeated event
// has no second effect.
package interrupt

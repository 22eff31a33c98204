// Package publish sends Whittle's own events (package events/own) to an EventBridge bus. It is an
// edge package.
//
// Its place: provision, lifecycle and disrupt publish what they have done. The setting eventBus names
// the bus; without it nothing is sent.
//
// Invariant: no work waits for an event, and none fails with it. An event that cannot be sent is
// logged and dropped.
package publish

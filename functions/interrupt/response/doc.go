// Package response decides what a batch of EventBridge events means for the NodeClaims that it is
// about. Decide takes the events and the claims, and returns one Response for each claim with the
// steps to carry out. The package is pure: the function interrupt reads the claims before, and
// carries the steps out after.
//
// Invariants: an event that is delivered twice, or in another order, gives no second effect on a
// claim that has it behind it. A claim that is being deleted is never deleted again.
package response

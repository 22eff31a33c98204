// Package intent decides which NodeClaims provision writes and deletes before it asks EC2 for
// anything. A written claim is the intent: after a crash the next pass launches it. The package is
// pure. The planner decides about claims for pods, and this package about those of NodePools with
// spec.replicas. Prepare completes both kinds.
//
// Invariants: a claim has its attempt number, its pool's hash and its batch from its creation on.
// All claims of a batch are equal in all that their request depends on.
package intent

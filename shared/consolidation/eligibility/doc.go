// Package eligibility decides which nodes may be deleted, and why the others stay.
//
// In the pipeline of package consolidation it runs once, after the fleet is read and before the
// search. It looks at each node alone: the state of its NodeClaim, the NodePool's policy, times
// that have to pass, and what protects its pods. It does not ask what a move would save.
//
// Invariants: it sets Node.Candidate and Node.Ineligible and nothing else. A node without a
// NodeClaim is no candidate. Its answer does not depend on the order of nodes or pods.
package eligibility

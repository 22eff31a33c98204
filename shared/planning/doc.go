// Package planning is the one way to a plan: every program that plans calls Solve.
//
// Its place: it stands above package planner, which plans pod by pod and trusts its input. Package
// sight reads a cluster into the snapshot that Solve takes. Functions, the command line, consolidation,
// benchmarks and tests of whole programs call Solve, so that all of them decide alike.
//
// Invariants:
//   - It is pure, as the planner is.
//   - No input makes it panic. A pod on which the planner panics has no place, with a reason.
//   - A gang is placed as a whole, or not at all.
//   - A cluster placement group has nodes in one zone, and a spread group at most seven in each.
//   - A pod that needs what the snapshot has not read has no place, and the plan says so.
package planning

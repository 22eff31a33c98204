// Package evaluation asks the planner for the result of deleting some nodes, and decides whether
// the deletion is worth it.
//
// In the pipeline of package consolidation the search and the validation of moves call it. Evaluate
// shows the planner the rest of the fleet and the pods of the leaving nodes. It splits the plan
// into independent steps, and refuses a step that saves too little. Whole does the same for nodes
// that have to leave together. Hold asks whether a step is still possible as planned.
//
// Invariants: it never changes the fleet. A step without a refusal leaves every pod with a place,
// and costs no more than before, whichever of its claims' offerings EC2 gives.
package evaluation

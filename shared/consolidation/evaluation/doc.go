// Package evaluation asks the planner what deleting some nodes comes to, and decides whether it is
// worth it.
//
// In the pipeline of package consolidation the search and the validation of moves ask it. Evaluate
// shows the planner the rest of the fleet and the pods of the leaving nodes, takes the plan apart
// into steps that do not depend on each other, and refuses a step that saves too little. Whole does
// the same for nodes that have to leave together. Hold asks whether a step is still possible as
// planned.
//
// Invariants: it never changes the fleet. A step without a refusal leaves every pod with a place,
// and costs no more than before, whichever of its claims' offerings EC2 gives.
package evaluation

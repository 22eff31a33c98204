// Package stagetest builds small snapshots by hand, for tests of single stages of the planner.
//
// Pod, Node, Type and Snapshot build the input. Functions like App and Spread change a pod, and are
// passed to Pod. Read runs the stages that only read the snapshot.
//
// Package plantest has large random snapshots, and a checker of whole plans.
package stagetest

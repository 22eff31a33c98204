// Package lifecycle takes every node through its life. It registers and initializes nodes that
// join, and drains and terminates those that leave. It collects instances without a claim, and
// writes the statuses of pools and classes.
//
// The handler turns a message into one pass. A pass reads the cluster (read.go) and decides on each
// object (decide.go and the pure packages nodeclaim, nodepool and nodeclass). It works in a fixed
// order (pass.go), and the performer carries out steps (perform.go). Every step may be the last one
// of an invocation: the next pass reads the objects and goes on.
package lifecycle

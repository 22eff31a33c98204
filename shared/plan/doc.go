// Package plan is the contract between the code that reads a cluster, the planner, and the code
// that launches nodes.
//
// A Snapshot holds everything that a decision may depend on: pods, nodes, NodePools, instance types
// and prices. A Plan holds the decision: the nodes to launch, the pods that existing nodes take,
// and the pods that stay unplaced with the reasons. Both are plain values that serialise to JSON,
// so that people can store, replay and compare them.
//
// The package decides nothing. Package planner turns a Snapshot into a Plan.
package plan

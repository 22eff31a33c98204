// Package state holds the cluster as it would be after the steps so far: which nodes remain, which
// nodes were launched, which pod is on which node, and what everything costs.
//
// It is the state of the pipeline of package consolidation. New reads a snapshot once. Apply is the
// only change afterwards, and Reset takes all changes back. Other packages read the exported fields
// and write none, except Node.Candidate, Node.Ineligible and Node.Vacant, which package eligibility
// writes once.
//
// Terms:
//   - A candidate is a node that may be deleted.
//   - A pod's dual price is its part of the lower bound on what new nodes for all pods can cost.
//   - A group is the set of nodes that have to be deleted and launched in one move, because pods of
//     one went to another.
//   - A node's disturbance is what the eviction of its pods costs, compared with other evictions.
//
// Invariants: Nodes is sorted by name, and launched nodes follow in the order of their launch.
// Every pod of a snapshot is on exactly one node. A removed node has no pods unless it was empty.
package state

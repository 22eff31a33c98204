// Package dispersal keeps replicas of a workload apart where that costs little: at most half of them on
// one node, and at most half in one spot pool, which is an instance type in a zone. Interruptions of a
// spot pool come together. Constraints of the pods say nothing of that, so that packing puts equal pods
// on one node.
//
// Its place: it changes the new nodes of a finished plan, before package claims writes them again.
//
//	read.go      the replicas on the plan's nodes, and which of them may move
//	exchange.go  units change places between new nodes, at no price
//	pools.go     which spot pools a node may come from, and how many replicas share one
//	zones.go     new spot nodes are kept to zones, so that no pool is common to too many of a workload
//
// Invariants:
//   - Each unit stays on a new node that can hold it, and each node keeps its NodePool. Units with
//     constraints about other pods, or that such constraints select, stay where they are.
//   - No workload has more on one node, or in one pool, than before and than half.
//   - The work is bounded, and counted in units.
package dispersal

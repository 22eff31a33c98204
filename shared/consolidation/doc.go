// Package consolidation decides which nodes are not worth their price, and where their pods go. It
// is pure: Solve reads an Input and gives a Plan, without clock, client or randomness. The same
// snapshot gives the same plan, whatever the order of its lists.
//
//	p := consolidation.Solve(&consolidation.Input{Cluster: cluster, Budgets: budgets, Allowed: allowed, Now: now})
//	for _, move := range p.Moves { ... }     // best first, within what Allowed lets go now
//
// A Move is one step. Its nodes in Delete go once every claim in Launch is made and initialized,
// and every claim in Await, which is already in flight, is initialized. It leaves every pod with a
// place, and costs no more than before, whichever of Launch's offerings EC2 gives. The moves of a
// plan touch different nodes and can be carried out side by side. Each holds after those before it.
// A move that is put off puts off later moves only where spread or affinity relates their pods.
//
// A later pass validates a proposed move before it carries it out: Check gives the move for the
// same nodes on a fresh snapshot, or the reason why there is none any more.
//
// The pipeline, a package each. Imports go from the right to the left:
//
//	settings   what a NodePool's annotations require of a move
//	relations  which pods spread and affinity relate to each other
//	podgroup   which pods are equal in requests and admitted nodes
//	   |
//	state        the cluster after the steps so far, prices and dual prices
//	   |
//	eligibility  which nodes may be deleted, and why the others stay
//	firstfit     whose pods fit on other nodes: a quick proposal
//	evaluation   what the planner makes of deleting some nodes, and whether it is worth it
//	   |
//	search       steps that make the fleet cheaper
//	   |
//	consolidation, this package
//	   moves.go       what the search found becomes moves
//	   budgets.go     the best moves first, within budgets
//	   validate.go    moves that do not hold after those before them wait
//	   check.go       one proposed move on a fresh snapshot
//	   allowances.go  what disruption budgets allow
//
// README.md describes how it decides.
package consolidation

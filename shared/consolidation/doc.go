// Package consolidation decides which nodes are not worth their price, and what becomes of their pods. It is pure: Solve reads a Snapshot and gives a
// Plan, both plain values, without clock, client or randomness; the same snapshot gives the same plan in whatever order its lists come.
//
// How it is used:
//
//	p := consolidation.Solve(&consolidation.Snapshot{Cluster: assembled, Budgets: budgets, Allowed: allowed, Now: now})
//	for _, move := range p.Moves { ... }     // best first, within what Allowed lets go now
//
// A Move is one step: the nodes in Delete go once every claim in Launch is made and initialized and every claim in Await, which is on its way already, is
// initialized. It leaves every pod with a place and costs no more than before, whatever of Launch's offerings EC2 gives. Moves of a plan touch
// different nodes and can be carried out side by side; each holds after those that stand before it, so one that is put off puts off those behind it only where
// their pods are bound by spread or affinity to others, and Check tells. Launch has claims as plan.Solve gives them, to be made as provisioning makes
// them. Places says which existing nodes have the room for the other pods.
//
// A move that was proposed is looked at again before it is carried out: Check gives the move for the same nodes on a fresh snapshot, or the reason
// why there is none any more.
//
// Solve goes through these steps, a file each:
//
//	settings.go   what a NodePool asks of a move (annotations), and the defaults
//	eligible.go   which nodes may go at all, and for the others why they stay; protection.go, what keeps their pods
//	fleet.go      the cluster as it would be after the moves so far; condense.go, as the planner is shown it
//	solve.go      which of two ways is tried first: room that there is, or nodes planned anew
//	sweep.go      of a large fleet, first the nodes that save most for what it disturbs to move their pods
//	deletes.go    nodes whose pods fit on other nodes: a quick packing (room.go) proposes, the planner decides
//	replace.go    nodes that cost more than their pods are worth by the planner's lower bound are planned anew, a few at a time
//	evaluate.go   what the planner makes of a set of nodes: independent groups, each with its gain; offers.go, what of a planned claim's offerings is cheap enough
//	bound.go      the nodes that the planner has to see for pods that are bound to others
//	terms.go      which pods are bound to others, and which are alike
//	moves.go      the difference of the fleets before and after becomes moves; order.go, the best first, within budgets
//	sequence.go   the moves made one after the other: those that do not hold after the ones before them wait
//	check.go      a move looked at again
//	allowed.go    what disruption budgets let go
//	balanced.go   the policy Balanced
//	stays.go      why nodes stay
package consolidation

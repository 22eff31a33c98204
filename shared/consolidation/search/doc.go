// Package search looks for a cheaper fleet by steps, each of which is worth its disturbance.
//
// In the pipeline of package consolidation it follows eligibility and precedes the validation of
// moves. Run changes the fleet until it finds no step, or the work budget is spent:
//
//	search.go   deletes nodes without pods, and runs the following stages
//	sweep.go    in a large fleet, first takes the nodes that save most per disturbance
//	delete.go   deletes nodes whose pods fit on other nodes
//	replace.go  plans nodes again that cost more than the dual prices of their pods
//	chunks.go   forms the chunks of nodes that are planned again together
//
// Terms: waste is the part of a node's price beyond the dual prices of its pods. A chunk is a set
// of nodes that are planned again together. No pod moves to a spared node, because the search may
// soon delete it.
//
// Invariants: work is counted, not timed, so that the result depends on the snapshot alone. No move
// deletes more nodes than the limits allow.
package search

// Package search looks for a cheaper fleet, by steps that are each worth what they disturb.
//
// In the pipeline of package consolidation it follows eligibility and precedes the validation of
// moves. Run changes the fleet until no step is found, or the work budget is spent:
//
//	search.go   nodes without pods, and the order of the following
//	sweep.go    in a large fleet, first the nodes that save most for their disturbance
//	delete.go   nodes whose pods fit on other nodes
//	replace.go  nodes that cost more than their pods' dual prices are planned again, a few at a time
//	chunks.go   which of those are planned together
//
// Terms: waste is what a node costs beyond its pods' dual prices. A chunk is nodes that are planned
// again together. Spared nodes may soon be deleted themselves, so that no pod moves to them.
//
// Invariants: work is counted, not timed, so that the result depends on the snapshot alone. No move
// deletes more nodes than the limits allow.
package search

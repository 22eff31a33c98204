// Package offering knows all ways to buy a new node. It is the planner's second stage.
//
// Build makes a pool type of each instance type that a NodePool allows, with the resources that the
// pool's daemon sets leave. Each pool type in a zone, of a capacity type and at a price, is an
// offering. Offerings are numbered from cheap to dear, and a set of offerings is a bit set. So the
// offerings that can hold a pod are an AND of sets, and the first one is the cheapest.
//
// An Index never changes after Build, but it remembers answers. It knows nothing of nodes.
//
// Terms:
//
//   - pool type: an instance type in a NodePool.
//   - feasibility: the offerings that can hold a unit, by labels, taints, host ports and size.
//   - resolved labels: values that pods decide for labels that their node's pool leaves open.
//   - tier: the offerings of the NodePools of one weight.
//   - exotic: an instance type that is bought only where no ordinary one will do.
//   - exclusion: a NodePool, instance type, zone or capacity type that a replan does not use.
package offering

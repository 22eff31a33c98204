// Package offering knows every way to buy a new node. It is the planner's second stage.
//
// Build reads the NodePools, instance types and DaemonSets of the workload's snapshot and returns
// an Index. Every later stage asks the Index which offerings can hold a pod, and what they cost.
//
// Build makes a pool type of each instance type that a NodePool allows. Each pool type in a zone,
// of a capacity type and at a price, is an offering. The package numbers offerings from cheap to
// dear, and variables named j hold such a number. A set of offerings is a bit set over the numbers.
// Filtering is therefore an AND of sets, and the first member of a set is its cheapest offering.
//
// Invariants:
//
//   - An Index does not change after Build. It only remembers answers, so it is not safe for
//     concurrent use.
//   - The same snapshot gives the same numbers, in whatever order its lists come.
//   - The Index knows no nodes, except for their share of NodePool limits.
//   - Callers must not change the sets and lists that they get, unless a comment allows it.
//
// Terms:
//
//   - variant: a part of a NodePool whose nodes run the same DaemonSets, as far as labels decide it that
//     the NodePool leaves to its pods. A NodePool without such labels is one variant.
//   - pool type: an instance type in a NodePool, with what DaemonSets leave of its resources.
//   - offering: a pool type in a zone, of a capacity type and reservation, at a price.
//   - feasibility: the offerings that can hold a unit, by labels, taints, host ports and size.
//   - open label: a label whose value neither the NodePool nor the offering decides.
//   - resolved labels: values of open labels that the pods on a node decide.
//   - alternative: one of the label requirements of which a node has to meet one.
//   - tier: the offerings of all NodePools of one weight.
//   - exotic: an instance type that the planner buys only where no ordinary one will do.
//   - exclusion: a NodePool, instance type, zone or capacity type that a replan does not use.
//   - product: what lists of instance types, zones and capacity types allow together.
package offering

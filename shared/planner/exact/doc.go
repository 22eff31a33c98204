// Package exact finds the cheapest whole nodes for few units, and proves how cheap nodes can be. It
// knows numbers only: kinds of units, nodes that can be bought, and limits. Package packing asks it
// for cheaper nodes than it has found, and package bound for a bound that splits neither units nor
// nodes.
//
// # How it works
//
// A column is a node with a number of units of each kind. A linear program over columns (package
// lp) gives each kind a dual price, and each limit too. Column generation grows it until no column
// is worth more than its node costs. The dual prices then prove a lower bound.
//
// The reduced cost of a column is what its node costs beyond the worth of its units. A choice of
// columns costs the lower bound and its reduced costs, and the worth of what it holds beyond the
// units that there are. So a choice that costs less than the bound and an allowance only has
// columns of a lower reduced cost than that. Solve lists these columns, and looks for the cheapest
// choice of them. It begins with a small allowance, and raises it to what the cheapest known nodes
// cost beyond the bound. Without a choice, an allowance proves a higher bound.
//
// The search covers one unit after the other, the dearest kind first. What it has left over
// identifies its state. It does not visit a state again at the same or a higher cost.
//
// # Terms
//
//   - kind: equal units, with what one needs of each axis.
//   - axis: a resource, or something else that a node has only so much of.
//   - column: a node with a number of units of each kind.
//   - full column: one to which no further unit can be added. All others cost no less and hold no
//     more.
//   - reduced cost: the price of a column beyond what its units are worth.
//   - allowance: how much a choice of columns may cost beyond the lower bound.
//
// # Invariants
//
//   - Every bound is proven, whatever the search leaves out. Dual prices are scaled until no column
//     is worth more than its node costs.
//   - Effort is bounded by counted work and not by time. The same input gives the same output on
//     every machine.
package exact

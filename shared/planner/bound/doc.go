// Package bound computes a lower bound on the price of new nodes: no fleet that holds the given
// units costs less. It also tells what each unit contributes to the bound, its dual price.
//
// Package packing calls Solve for the units that wait, and chooses nodes by the dual prices. The
// planner calls LowerBound for the units that got a place on a new node, and prints it beside the
// plan's price. It is pure: units and offerings go in, prices come out.
//
// # The bound
//
// The axes are the resources and the slots. Constraints between pods limit how many units of a
// group a node takes, and a slot expresses that. A node has one of each slot. A unit that repels
// all others of its group takes all of it. A unit of which a spread over hosts allows m on a node
// takes 1/m.
//
// Take for each offering j any non-negative weights w(j) of the axes, such that all that its empty
// node has weighs no more than the node costs:
//
//	w(j).free(j) <= price(j) + takes(j) * stockPrice(j)
//
// A stock is a capacity reservation, or what is left of a commitment. takes(j) is what a node takes of
// its stock, zero without one. All offerings of one stock share its price. Give a unit s the dual price
//
//	dualPrice(s) = min over the offerings j that can hold s of w(j).need(s).
//
// The units on a node of offering j need no more than free(j) of each axis together. So
//
//	sum of dualPrice(s) <= sum of w(j).need(s) = w(j).(sum of need(s)) <= w(j).free(j)
//	                    <= price(j) + takes(j) * stockPrice(j).
//
// Add this up over the nodes of any fleet that holds all units. The dual prices together are at
// most the fleet's price and the prices of what it takes of stocks. It takes at most what they have
// left. So any such weights give a lower bound:
//
//	sum of dualPrice(s) - sum over stocks of stockPrice * left
//
// An offering gets no weights if another one dominates it: that one costs no more, has no less of
// anything and can hold all the same units. The weights of the other one serve for both.
//
// # How good weights are found
//
// Good weights are the dual solution of a linear program: the cheapest way to hold all units, where
// parts of nodes and of units are allowed. Units that are about equal share a bucket, which is a
// row of the program. Its columns are fillings of offerings, and it grows by column generation (see
// dualsolve.go and package lp). Where one set of weights serves all offerings about as well, that
// set is used.
//
// # Further bounds
//
// For few units, package exact proves a bound that splits neither units nor nodes: see whole.go. A
// plan that meets it is optimal.
//
// A third bound counts nodes. A fleet has a node that can hold each unit, and more than one of
// them if a node takes only so many. LowerBound is the greatest of them.
//
// # Terms
//
//	units              equal units: their need, their count and the offerings that can hold one
//	bucket             units of about the same need, which the program does not tell apart
//	slot               what a node has one of, and units share because constraints keep them apart
//	step               an axis that counts the large units on a node: see Step
//	dual price         a unit's share of the lower bound, in US dollars an hour
//	stock price        what a unit of a stock is worth beyond the node's price, in US dollars an hour
//	uniform weights    the best weights that are the same for all offerings
//
// # Invariants
//
//   - Every result is a proven bound, because weights are scaled until a node weighs what it costs.
//   - The same input gives the same bits on every machine. Explicit float64 conversions prevent
//     fused multiplications.
//   - Sets of offerings are immutable, and a pointer identifies one. Equal sets may have several
//     pointers.
package bound

// Package lp solves the two linear programs behind the lower bound: a covering program by columns
// (Program), and the fractional filling of one bin (Knapsack). It knows numbers only: rows,
// columns, costs and prices. Package bound generates columns with both; package packing uses
// Program to choose whole node fillings.
//
// Column generation works like this: Program gives each row a dual price. Knapsack fills a bin with
// what those prices make most valuable. A filling that is worth more than the bin costs becomes a
// column of Program, which is solved again.
//
// Terms:
//
//	row         what must be covered: a kind of units with a count; or an upper bound
//	column      one way to cover rows, at a cost
//	dual price  what one more unit of a row's need would cost
//	bin         what a knapsack fills: an amount of each axis
//	axis        a resource, or another quantity that a bin has only so much of
//	weight      the dual price of an axis of a bin
//
// Invariants:
//   - The same input gives the same output on every machine. Explicit float64 conversions keep
//     compilers from fusing multiplications with additions, which would round differently.
//   - Each method does a bounded amount of work. Results may be cut short or rounded, so callers
//     scale prices and weights until they are feasible.
package lp

// Package resource has vectors of resources, which the planner and consolidation compute with.
//
// Axes names the resources that anything in a snapshot asks for. A Vector has an amount for each:
// thousandths of a core for cpu, billionths of a dollar for prices, and whole units for all others.
// Requests round up, supplies round down, and no amount exceeds MaxAmount, so that sums do not
// overflow.
package resource

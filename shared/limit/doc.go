// Package limit says what bounds nodes together: spec.limits of a NodePool, a CapacityQuota, and
// the ceiling of a whole cluster. It is pure.
//
// A Limit names the nodes that count, and the amounts that they may take together. All three kinds
// are Limits, so that the planner and the check before a launch treat them alike. They count a node
// by these rules:
//
//   - A node whose claim has not launched counts with the most that it may become.
//   - A node that leaves for certain does not count (scheduling.CountsAgainstLimits).
//   - The claim decides about a node's labels and price. The Node decides only where there is no claim,
//     because its kubelet may say anything.
//
// Money counts at list prices: what a plan adds up for a node, extras included. A commitment
// changes nothing. It is not bound to a node, so that an old node would count more on the day that
// it ends, or when other instances of the account use it. A capacity reservation is bound to its
// nodes. They count with what a plan adds up for them, which is nearly nothing beside the extras.
// The price of an interruption is on no bill, and counts nowhere.
package limit

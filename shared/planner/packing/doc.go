// Package packing plans new nodes for the demands that wait.
//
// Package planner calls Pack once for each round of placing, after package topology has bound the
// demands to domains. Demands and the nodes planned so far go in, planned nodes come out. Package
// correction checks them afterwards. Packing reads no topology: each demand's offerings say all about
// its domains.
//
// # How nodes are chosen
//
// Package bound gives each unit a dual price. No node holds units of a higher price than its own,
// so the ratio of both says how good a node is: 1 is the best that can be.
//
// The demand with the highest price seeds a node. Packing fills several offerings around it, and
// keeps the node with the best ratio. It repeats this until nothing waits. Then it takes badly used
// nodes apart and packs their units anew, and it merges nodes. Few demands with many units each are
// packed by patterns, which a linear program chooses. For few units, package exact then looks for the
// cheapest whole nodes.
//
// # Invariants
//
//   - Every planned node can hold its fills, and the limits and stocks allow all nodes.
//   - Effort is bounded by counted work and not by time, so every machine gives the same plan.
//   - The order of demands and offerings decides ties. No map is iterated.
//
// # Terms
//
//   - queue: the waiting demands, in the order in which they seed nodes, and divided into bands.
//   - band: demands with the same offerings and host constraints, and similar memory shares.
//   - seed: the demand that a node is chosen for. Its unit comes onto the node first.
//   - candidate: an offering that is worth trying, with its price and its weights.
//   - weight: what a unit's need costs on an offering, by the weights of package bound.
//   - scarce offering: one that a limit or a stock may forbid.
//   - pattern: the units on a node, by demand, as a column of the linear program.
package packing

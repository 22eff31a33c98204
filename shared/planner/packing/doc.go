// Package packing plans new nodes for the demands that wait.
//
// Pack takes the dual prices of package bound. The demand that is hardest to place seeds a node. Of
// the offerings that can hold it, Pack fills several, and keeps the node that costs least for the
// value of its units. Few demands with many units each are packed by whole fillings, which a linear
// program finds. Then Pack takes badly used nodes apart and packs them again, as long as that is
// cheaper and the work budget lasts. Work is counted and not timed, so a plan is the same on every
// machine.
//
// The package returns nodes and knows no topology: each demand is bound to its domains already.
//
// Terms:
//
//   - queue: the waiting demands, in the order in which they seed nodes.
//   - band: demands of one feasibility with a similar ratio of cpu to memory.
//   - seed: the demand that opens a node.
//   - candidate: an offering that is worth trying for a demand.
//   - pattern: a filling of a node that repeats.
package packing

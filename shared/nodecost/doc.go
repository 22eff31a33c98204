// Package nodecost computes what a node costs an hour beside its instance: its volumes, its public
// IPv4 address, and what agents and licences charge for each node. These are its extras.
//
// Its place: snapshot adds the extras to the prices of a NodePool's offerings, so that planner and
// consolidation count them. The console and the metrics show them.
//
// Invariants:
//   - The extras are the same for all instance types and capacity types of a NodePool.
//   - What is not known counts as zero, and never as an error: a missing class, an image's own
//     disks, a price that was not read.
package nodecost

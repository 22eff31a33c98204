// Package placement owns what is on which node, and what still waits. Every other stage changes
// placements through its State.
//
// A demand is equal units of a pod group that want places. Existing nodes and nodes in flight take
// units by FillExisting. Planned nodes take units by Place, Put and OpenFor. The package keeps the
// constraints over hosts while it fills nodes: anti-affinity, spread over host names, host ports
// and volume limits. It also keeps the limits of NodePools, reservations and minValues.
//
// Constraints over zones and other labels belong to package topology, which reads a State.
//
// Terms:
//
//   - unit: one pod, or several that must share a node.
//   - fill: units of one demand on one node.
//   - planned node, existing node: a node to launch; a node that exists or is in flight.
//   - ledger: the part of limits and reservations that is left for further nodes.
//   - leftovers: pods that found no place in this round.
//   - alternatives of a node: the offerings that could replace its own, since they hold its fills.
//   - host slack: how many pods of a spread every host has at least.
package placement

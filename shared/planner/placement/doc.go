// Package placement owns which pods are on which node, and which pods still wait. Every other stage
// reads and changes placements through a State.
//
// New reads the existing nodes and the nodes in flight from the snapshot. Topology then adds
// demands. FillExisting gives their units places on existing nodes. Packing and correction plan new
// nodes, and place units by Place, PlaceOrGrow and PlanNodeFor. Nominate and package claims write
// the result.
//
// The package keeps all constraints that concern one node: resources, labels, taints, host ports,
// volume limits, anti-affinity and spread over host names. It also keeps NodePool limits, capacity
// stocks and minValues. Constraints over zones and other labels belong to package topology.
//
// Invariants:
//
//   - A unit is either on one node or waiting: the fills of a demand and Demand.Waiting add up to
//     its units.
//   - Free of a node is never negative after a placement.
//   - Demand.Index is the demand's position in State.Demands. Sets of demands use it.
//   - Nodes and demands keep their order, so that equal snapshots give equal plans.
//
// Terms:
//
//   - unit: one pod, or several that must share a node.
//   - demand: equal units of a pod group that want places, bound to the same topology domains.
//   - fill: units of one demand on one node.
//   - planned node, existing node: a node to launch; a node that exists or is in flight.
//   - leftovers: pods that found no place in this round.
//   - ledger: the part of limits and stocks that is left for further nodes.
//   - alternatives of a node: the offerings that could replace its own, since they hold its fills.
//   - expressible: said of offerings that a NodeClaim can allow without allowing unfit ones.
//   - to grow a node: to give it a larger offering of the same NodePool.
//   - host slack: how many pods of a spread every host has at least.
//   - slot: something that a node has only one of, because of constraints over hosts.
package placement

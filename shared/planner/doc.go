// Package planner decides where waiting pods go: to existing nodes, to nodes in flight, and to new
// nodes. It is pure. Solve turns a plan.Snapshot into a plan.Plan without a clock, a client or
// unseeded randomness. The same snapshot gives the same plan, in whatever order its lists come.
//
// Solve is a pipeline. Each stage is a package, and each imports only packages before it:
//
//	workload   groups equal pods, and reads what their constraints say
//	offering   numbers the ways to buy a node by price, and finds those that can hold a pod
//	placement  knows which pods are on which node, and which still wait
//	topology   binds pod groups to zones and other domains, and measures spreads and affinity
//	bound      computes the lower bound, and a dual price for each pod
//	packing    plans new nodes
//	correction takes back placements that break a constraint, and places the rest singly
//	claims     writes new nodes as NodeClaims
//	dispersal  keeps replicas of a workload on several nodes and in several spot pools
//
// Four packages serve them and know nothing of Kubernetes' scheduling: resource has vectors of
// resources, dense has sets and tables of small numbers, lp solves linear programs, and exact finds the
// cheapest whole nodes for few units.
//
// Solve in solve.go shows the order of the stages. This package also replans small workloads
// whose price is far above the bound (replan.go), and explains why a pod has no place (explain.go).
//
// # Glossary
//
//   - pod group: pods that are equal for scheduling.
//   - unit: one pod, or several that must share a node.
//   - demand: equal units of a pod group that want places, bound to the same topology domains.
//   - pod selector: the namespaces and labels by which a spread or affinity term selects pods.
//   - pool type: an instance type in a NodePool, with what daemon sets leave of it.
//   - offering: a pool type in a zone, of a capacity type and reservation, at a price.
//   - feasibility: the offerings that can hold a unit of a demand.
//   - resolved labels: values that the pods on a node decide, for labels that its pool leaves open.
//   - planned node, existing node: a node to launch; a node that exists or is in flight.
//   - fill: units of one demand on one node.
//   - alternatives of a node: the offerings that could replace its own, since they hold its fills.
//   - lower bound: a price that no fleet of new nodes for the same pods can undercut.
//   - dispersal: to keep replicas of a workload apart.
//   - dual price: a unit's share of the lower bound, in US dollars an hour.
//   - reservation price: what an instance of a capacity reservation is worth beyond its price.
//   - exclusion: a NodePool, instance type, zone or capacity type that a replan does not use.
package planner

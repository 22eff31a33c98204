// Package firstfit tries quickly which nodes' pods fit on other nodes, by requests, taints and
// labels alone. It proposes nodes to delete, and the planner decides.
//
// In the pipeline of package consolidation it stands between package state and the search. It reads the
// fleet and never changes it. A Packing keeps its own count of the free room, and all pods that it
// placed stay placed until the next Packing.
package firstfit

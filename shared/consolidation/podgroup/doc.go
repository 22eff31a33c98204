// Package podgroup groups pods that request equal resources and that node labels and taints admit
// to the same nodes. It gives requests as vectors, which can be added and compared fast.
//
// It is a leaf of the pipeline of package consolidation. It ignores topology spread, affinity
// between pods, volumes and host ports: package firstfit uses it to propose, and the planner
// decides.
//
// Invariant: vectors of one Groups have the same axes. Those of different Groups cannot be
// compared.
package podgroup

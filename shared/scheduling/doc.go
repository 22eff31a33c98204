// Package scheduling decides whether a pod may run on a node: label requirements, taints and
// tolerations, requested resources, and which pods wait for a node at all.
//
// Its place: catalog, volumes, plan, planner, disruption and consolidation build on it. It imports
// only package api.
//
// Invariants:
//   - Its results are those of kube-scheduler and Karpenter.
//     https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
//     https://karpenter.sh/docs/concepts/scheduling/
//   - A Requirement is an exact set of label values, with absence as an element of its own.
//     Intersection, Intersects, SubsetOf and Empty agree with each other on every pair.
//   - Amounts never overflow. They stop at the largest and smallest 64-bit number.
package scheduling

// Package plantest is the planner's adversary, for tests. It has two halves that know nothing of
// how planner.Solve works.
//
// Check reads a Snapshot and a Plan and lists what the plan does that Kubernetes, or the launch of
// an instance, will not do. It is written from the documentation of Kubernetes alone, one pod and
// one node at a time:
//
//	matching.go   labels of nodes against node selectors and affinity
//	              (https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/)
//	pods.go       what a pod asks for: requests, host ports, affinity to other pods, topology spread
//	volumes.go    where a pod's volumes can be used (https://kubernetes.io/docs/concepts/storage/persistent-volumes/)
//	existing.go   the nodes that exist, and what is free on them
//	planned.go    the nodes to launch, each as every instance that its NodeClaim allows
//	claims.go     the NodeClaims themselves: their pool, prices, minValues, requests
//	limits.go     the limits of NodePools, and capacity reservations
//	topology.go   affinity and spread
//	              (https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/)
//	binding.go    whether the pods can be bound in some order at all
//	leftout.go    pods without a place that a node could hold
//	notes.go      what is within the rules and worth a look
//
// Random makes small clusters that between them use every feature. Minimise makes a cluster smaller
// while it still shows a fault, and Describe prints it.
package plantest

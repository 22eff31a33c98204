// Package plantest checks plans and makes random clusters, for tests. It knows nothing of how
// planner.Solve works.
//
// Check reads a snapshot and a plan. It lists where the scheduler would not bind a pod as planned,
// and where a launch would not give the planned node. It looks at one pod and one node at a time,
// and follows the documentation of Kubernetes:
//
//	matching.go   labels of nodes against node selectors and node affinity
//	              (https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/)
//	pods.go       requests, host ports, affinity between pods and topology spread of a pod
//	volumes.go    where a pod's volumes can be used
//	              (https://kubernetes.io/docs/concepts/storage/persistent-volumes/)
//	existing.go   existing nodes, and what is free on them
//	planned.go    planned nodes, with every instance that their NodeClaims allow
//	claims.go     NodeClaims: their NodePool, prices and requests
//	minvalues.go  minValues of NodePools
//	limits.go     limits of NodePools, capacity reservations and commitments
//	topology.go   affinity between pods and topology spread
//	              (https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/)
//	binding.go    whether the scheduler can bind the pods in some order
//	leftout.go    pods without a place that a node could hold
//	newnodes.go   the new nodes that could hold a pod
//	notes.go      plans within the rules that still deserve a look
//
// Random makes small clusters, and Changes adds to them what came later. Together the clusters of many
// seeds use every feature: UsedFields lists the fields of Kubernetes' API that they have. Minimise
// removes from a cluster what a fault does not need, and Describe prints it.
package plantest

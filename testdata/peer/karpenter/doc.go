// Package karpenter plans our snapshots with the scheduler of Karpenter (sigs.k8s.io/karpenter),
// used as the library that its controller is built from.
//
// Each object is handed over as it is: pods, nodes, volumes and daemon sets are Kubernetes' own
// types, node pools and node claims have the same JSON on both sides, and instance types are
// converted field by field. Karpenter reads through a client of objects in memory, where the
// controller reads a cache.
package karpenter

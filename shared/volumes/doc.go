// Package volumes computes the restrictions that a pod's volumes put on its node: the places where
// the volumes can be attached, and the attachments that they take of the node's CSI drivers.
//
// Its place: the planner asks an Index for the Need of each group of pods. The package imports only
// package scheduling.
//
// Invariants:
//   - It reads claims, volumes and classes as kube-scheduler does, and treats volumes that are tied
//     to a host as Karpenter does.
//     https://kubernetes.io/docs/concepts/storage/storage-classes/#volume-binding-mode
//     https://kubernetes.io/docs/concepts/storage/storage-limits/
//   - An Index never changes after New, so goroutines may share it.
//   - The work for one pod is bounded. A cut can only hide a possible place, never add one.
package volumes

// Package volumes says what a pod's volumes ask of its node: where the volumes can be attached (the
// zone of an EBS volume, the host of a local one), and how many attachments they take of what the
// node's drivers can attach. It reads claims, volumes and classes as Kubernetes' scheduler does
// (https://kubernetes.io/docs/concepts/storage/storage-classes/#volume-binding-mode,
// https://kubernetes.io/docs/concepts/storage/storage-limits/), and Karpenter's way with volumes that are tied to a host. It is pure: no clock, no client.
package volumes

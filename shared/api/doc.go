// Package api defines the objects that Whittle works on, their keys, conditions and reasons.
//
// The kinds are NodePool and NodeClaim (karpenter.sh/v1), EC2NodeClass (karpenter.k8s.aws/v1) and
// NodeOverlay (karpenter.sh/v1alpha1). Of other autoscalers there are CapacityBuffer
// (autoscaling.x-k8s.io/v1beta1), ProvisioningRequest (autoscaling.x-k8s.io/v1) and PodGroup
// (scheduling.x-k8s.io/v1alpha1). Fields, labels, annotations, conditions and reasons have the
// names that Karpenter gives them, so that a manifest for Karpenter works here and the reverse.
//
// Its place: every other package of shared may import this one; it imports none of them.
//
// Invariants:
//   - The types are plain structs over metav1.TypeMeta and metav1.ObjectMeta. They import neither
//     client-go nor controller-runtime, which would multiply the start-up time of a Lambda function.
//   - Each kind has Default, which fills in the defaults of the API server's schema, and Validate,
//     which reports every problem of an object at once. Both are needed, because an object may have
//     been stored through Karpenter's schema.
//   - Annotations and ConditionTypes list every annotation and condition that Whittle uses. The
//     tables in the README of this folder are generated from them.
//
// The manifests in functions/install/manifests/crds are generated from the markers in the comments.
//
// +groupName=karpenter.sh
// +versionName=v1
// +kubebuilder:object:generate=true
package api

//go:generate go run ./internal/crdgen -output ../../functions/install/manifests/crds

// Package api holds the objects that Whittle works on: NodePool and NodeClaim of
// the group karpenter.sh and EC2NodeClass of the group karpenter.k8s.aws, in the
// version v1, and NodeOverlay of karpenter.sh/v1alpha1, with the field names, keys, conditions and reasons that Karpenter
// gives them. A manifest written for one is read by the other.
//
// The types are plain structs over metav1.TypeMeta and metav1.ObjectMeta. They
// import neither client-go nor controller-runtime, because importing those costs a
// Lambda function several times its start-up time.
//
// Each kind has Default, which fills in what the API server's schema would, and
// Validate, which reports everything that is wrong with an object at once. Both
// exist because an object may have been stored through another schema than ours.
//
// The manifests under functions/install/manifests/crds are generated from the
// markers in this package's comments.
//
// +groupName=karpenter.sh
// +versionName=v1
// +kubebuilder:object:generate=true
package api

//go:generate go run ./internal/crdgen -output ../../functions/install/manifests/crds

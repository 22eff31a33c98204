// Package legacy holds the kinds that Karpenter had before karpenter.sh/v1, and converts them.
//
// The kinds are Provisioner (karpenter.sh/v1alpha5) and AWSNodeTemplate
// (karpenter.k8s.aws/v1alpha1) of 2021 to 2023, and NodePool, NodeClaim and EC2NodeClass of
// v1beta1. Fields and defaults are those of their time.
//
// Input: an old object, the template or class that it names, and Settings. Output: a v1 NodePool
// and EC2NodeClass, and a Change for each difference of meaning. A Change names the old field, what
// is different now, and the remedy. The command prints changes as comments. Lifecycle writes those
// that matter as conditions and events.
//
// Invariants:
//   - The conversion is pure, and it never panics, whatever the old object holds.
//   - An old object without a blocking Change and without an error of Check becomes objects that
//     pass the validation of v1.
//   - A default of an old kind that v1 does not have is written out.
//
// The definitions of Provisioner and AWSNodeTemplate in functions/install/manifests/crds are
// generated from the markers in the comments.
//
// +groupName=karpenter.sh
// +versionName=v1alpha5
package legacy

//go:generate go run ../internal/crdgen -resources provisioners,awsnodetemplates -output ../../../functions/install/manifests/crds

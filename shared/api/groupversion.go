package api

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// API groups, and the one version of them that is served.
const (
	// Group is the API group of NodePool and NodeClaim.
	Group = "karpenter.sh"
	// AWSGroup is the API group of EC2NodeClass.
	AWSGroup = "karpenter.k8s.aws"
	// CompatibilityGroup prefixes annotations that only older objects carry.
	CompatibilityGroup = "compatibility.karpenter.sh"
	// AWSCompatibilityGroup is CompatibilityGroup for the keys of AWSGroup.
	AWSCompatibilityGroup = "compatibility.karpenter.k8s.aws"
	// Version is the version of both groups.
	Version = "v1"
)

// Values of apiVersion.
const (
	APIVersion    = Group + "/" + Version
	AWSAPIVersion = AWSGroup + "/" + Version
)

// Kinds.
const (
	NodePoolKind     = "NodePool"
	NodeClaimKind    = "NodeClaim"
	EC2NodeClassKind = "EC2NodeClass"
)

// Resource names, the plural forms in REST paths and RBAC rules.
const (
	NodePoolResource     = "nodepools"
	NodeClaimResource    = "nodeclaims"
	EC2NodeClassResource = "ec2nodeclasses"
)

// REST paths of the collections. All three kinds are cluster scoped, so one object
// is at its collection's path, a slash and its name, and its status one segment
// further.
const (
	NodePoolsPath      = "/apis/" + APIVersion + "/" + NodePoolResource
	NodeClaimsPath     = "/apis/" + APIVersion + "/" + NodeClaimResource
	EC2NodeClassesPath = "/apis/" + AWSAPIVersion + "/" + EC2NodeClassResource
)

// Names of the CustomResourceDefinitions.
const (
	NodePoolCRD     = NodePoolResource + "." + Group
	NodeClaimCRD    = NodeClaimResource + "." + Group
	EC2NodeClassCRD = EC2NodeClassResource + "." + AWSGroup
)

// NodePoolGVR names the nodepools resource.
func NodePoolGVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: Group, Version: Version, Resource: NodePoolResource}
}

// NodeClaimGVR names the nodeclaims resource.
func NodeClaimGVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: Group, Version: Version, Resource: NodeClaimResource}
}

// EC2NodeClassGVR names the ec2nodeclasses resource.
func EC2NodeClassGVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: AWSGroup, Version: Version, Resource: EC2NodeClassResource}
}

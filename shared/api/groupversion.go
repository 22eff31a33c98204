package api

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// API groups, and the versions of them that are served.
const (
	// Group is the API group of NodePool and NodeClaim.
	Group = "karpenter.sh"
	// AWSGroup is the API group of EC2NodeClass.
	AWSGroup = "karpenter.k8s.aws"
	// CompatibilityGroup prefixes annotations that only older objects carry.
	CompatibilityGroup = "compatibility.karpenter.sh"
	// AWSCompatibilityGroup is CompatibilityGroup for the keys of AWSGroup.
	AWSCompatibilityGroup = "compatibility.karpenter.k8s.aws"
	// Version is the version of every kind except NodeOverlay.
	Version = "v1"
	// OverlayVersion is the version that NodeOverlay has in Group.
	OverlayVersion = "v1alpha1"
)

// Values of apiVersion.
const (
	APIVersion        = Group + "/" + Version
	AWSAPIVersion     = AWSGroup + "/" + Version
	OverlayAPIVersion = Group + "/" + OverlayVersion
)

// Kinds.
const (
	NodePoolKind     = "NodePool"
	NodeClaimKind    = "NodeClaim"
	EC2NodeClassKind = "EC2NodeClass"
	NodeOverlayKind  = "NodeOverlay"
)

// Resource names, the plural forms in REST paths and RBAC rules.
const (
	NodePoolResource     = "nodepools"
	NodeClaimResource    = "nodeclaims"
	EC2NodeClassResource = "ec2nodeclasses"
	NodeOverlayResource  = "nodeoverlays"
)

// REST paths of the collections. All kinds are cluster scoped: the path of an object is
// COLLECTION/NAME, and the path of its status is COLLECTION/NAME/status.
const (
	NodePoolsPath      = "/apis/" + APIVersion + "/" + NodePoolResource
	NodeClaimsPath     = "/apis/" + APIVersion + "/" + NodeClaimResource
	EC2NodeClassesPath = "/apis/" + AWSAPIVersion + "/" + EC2NodeClassResource
	NodeOverlaysPath   = "/apis/" + OverlayAPIVersion + "/" + NodeOverlayResource
)

// Names of the CustomResourceDefinitions.
const (
	NodePoolCRD     = NodePoolResource + "." + Group
	NodeClaimCRD    = NodeClaimResource + "." + Group
	EC2NodeClassCRD = EC2NodeClassResource + "." + AWSGroup
	NodeOverlayCRD  = NodeOverlayResource + "." + Group
)

// NodePoolGVR names the nodepools resource.
func NodePoolGVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: Group, Version: Version, Resource: NodePoolResource}
}

// PodGroupGVR is the resource of scheduler-plugins' PodGroups.
func PodGroupGVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Resource: "podgroups"}
}

// NodeClaimGVR names the nodeclaims resource.
func NodeClaimGVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: Group, Version: Version, Resource: NodeClaimResource}
}

// NodeOverlayGVR names the nodeoverlays resource.
func NodeOverlayGVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: Group, Version: OverlayVersion, Resource: NodeOverlayResource}
}

// EC2NodeClassGVR names the ec2nodeclasses resource.
func EC2NodeClassGVR() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: AWSGroup, Version: Version, Resource: EC2NodeClassResource}
}

package api

// Annotations of the group karpenter.sh.
const (
	// DoNotDisruptAnnotationKey protects a pod ("true", or a Go duration counted from
	// the pod's start) or a node ("true") from voluntary disruption.
	DoNotDisruptAnnotationKey = Group + "/do-not-disrupt"
	// NodePoolHashAnnotationKey is the hash of the pool's template that a claim was made from.
	NodePoolHashAnnotationKey = Group + "/nodepool-hash"
	// NodePoolHashVersionAnnotationKey is the version of the way it was computed.
	NodePoolHashVersionAnnotationKey = Group + "/nodepool-hash-version"
	// NodePoolHashVersion is the current value of NodePoolHashVersionAnnotationKey.
	NodePoolHashVersion = "v3"
	// NodeClaimTerminationTimestampAnnotationKey is the time (RFC 3339) after which a
	// draining node's pods are deleted whatever protects them.
	NodeClaimTerminationTimestampAnnotationKey = Group + "/nodeclaim-termination-timestamp"
	// NodeClaimMinValuesRelaxedAnnotationKey is "true" where minValues could not be met
	// and were lowered.
	NodeClaimMinValuesRelaxedAnnotationKey = Group + "/nodeclaim-min-values-relaxed"
	// DRADriversAnnotationKey lists the device drivers whose devices the pods
	// of a claim ask for.
	DRADriversAnnotationKey = Group + "/requested-dra-drivers"
	// PriceOverlayAppliedAnnotationKey marks a claim whose prices an overlay changed.
	PriceOverlayAppliedAnnotationKey = Group + "/price-overlay-applied"
	// CapacityOverlayAppliedAnnotationKey marks a claim whose capacity an overlay changed.
	CapacityOverlayAppliedAnnotationKey = Group + "/capacity-overlay-applied"
)

// Annotations of the group karpenter.k8s.aws.
const (
	// AnnotationEC2NodeClassHash is the hash of the node class that a claim was made from.
	AnnotationEC2NodeClassHash = AWSGroup + "/ec2nodeclass-hash"
	// AnnotationEC2NodeClassHashVersion is the version of the way it was computed.
	AnnotationEC2NodeClassHashVersion = AWSGroup + "/ec2nodeclass-hash-version"
	// EC2NodeClassHashVersion is the current value of AnnotationEC2NodeClassHashVersion.
	EC2NodeClassHashVersion = "v5"
	// AnnotationInstanceTagged is "true" once the instance has the tags that are known
	// only after registration.
	AnnotationInstanceTagged = AWSGroup + "/tagged"
	// AnnotationClusterNameTagged is "true" once the instance has EKSClusterNameTagKey.
	AnnotationClusterNameTagged = AWSCompatibilityGroup + "/cluster-name-tagged"
	// AnnotationInstanceProfile is the instance profile that a claim was launched with.
	AnnotationInstanceProfile = AWSGroup + "/instance-profile-name"
)

// Annotations of Cluster Autoscaler, honoured so that what was written for it keeps its
// meaning. https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md
const (
	// SafeToEvictAnnotationKey "false" on a pod keeps its node from voluntary disruption.
	SafeToEvictAnnotationKey = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	// ScaleDownDisabledAnnotationKey "true" on a node keeps it from voluntary disruption.
	ScaleDownDisabledAnnotationKey = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
)

// Annotations of our own, on node claims.
const (
	// OwnGroup prefixes the keys that Karpenter does not have.
	OwnGroup = "whittle.dev"
	// AttemptAnnotationKey counts the launches tried for a claim. With the claim's UID
	// it makes the token by which EC2 recognises a repeated call.
	AttemptAnnotationKey = OwnGroup + "/attempt"
	// BatchAnnotationKey is a claim's place in a batch of equal claims that are launched by
	// one call: id/size/index. With the attempt, the batch's id makes that call's token.
	BatchAnnotationKey = OwnGroup + "/batch"
	// NominatedPodsAnnotationKey lists, on a NodeClaim, the UIDs of the pods that it was
	// planned for, with commas between. Until the node is initialized and the scheduler
	// binds them, every further plan meets the same pods waiting; packing them onto the
	// nodes on their way in another order than they were planned in might not fit all of
	// them and would launch a node too many. And a node is not empty for good while its
	// pods are still being moved to it.
	NominatedPodsAnnotationKey = OwnGroup + "/nominated-pods"
)

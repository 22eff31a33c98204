package api

// ConditionReady sums up the other conditions of an object.
const ConditionReady = "Ready"

// Reasons of ConditionReady when it is not true.
const (
	// ReasonUnhealthyDependents: a condition that Ready depends on is false.
	ReasonUnhealthyDependents = "UnhealthyDependents"
	// ReasonReconcilingDependents: a condition that Ready depends on is not known yet.
	ReasonReconcilingDependents = "ReconcilingDependents"
)

// ConditionTypeValidationSucceeded says whether an object passed Validate. NodePool,
// EC2NodeClass and NodeOverlay have it.
const ConditionTypeValidationSucceeded = "ValidationSucceeded"

// Conditions of a NodePool.
const (
	// ConditionTypeNodeClassReady says whether the pool's node class is ready.
	ConditionTypeNodeClassReady = "NodeClassReady"
	// ConditionTypeNodeRegistrationHealthy says whether launched nodes join the cluster;
	// it informs, and is no part of Ready.
	ConditionTypeNodeRegistrationHealthy = "NodeRegistrationHealthy"
	// ConditionTypeNodeRepairBlocked is there, and true, while so many of the pool's nodes
	// are unhealthy that none is repaired; it is Whittle's own, and no part of Ready.
	ConditionTypeNodeRepairBlocked = "NodeRepairBlocked"
)

// Reasons of a NodePool's conditions.
const (
	ReasonNodePoolValidationFailed = "NodePoolValidationFailed"
	ReasonNodeClassNotFound        = "NodeClassNotFound"
	ReasonNodeClassNotReady        = "NodeClassNotReady"
	ReasonNodeClassTerminating     = "NodeClassTerminating"
	ReasonRegistrationFailed       = "RegistrationFailed"
	ReasonTooManyUnhealthyNodes    = "TooManyUnhealthyNodes"
)

// NodePoolReadyDependents are the conditions that a NodePool's Ready sums up.
func NodePoolReadyDependents() []string {
	return []string{ConditionTypeValidationSucceeded, ConditionTypeNodeClassReady}
}

// Conditions of a NodeClaim.
const (
	ConditionTypeLaunched             = "Launched"
	ConditionTypeRegistered           = "Registered"
	ConditionTypeInitialized          = "Initialized"
	ConditionTypeConsolidatable       = "Consolidatable"
	ConditionTypeDrifted              = "Drifted"
	ConditionTypeDrained              = "Drained"
	ConditionTypeVolumesDetached      = "VolumesDetached"
	ConditionTypeInstanceTerminating  = "InstanceTerminating"
	ConditionTypeConsistentStateFound = "ConsistentStateFound"
	ConditionTypeDisruptionReason     = "DisruptionReason"
)

// Reasons of a NodeClaim's conditions while it is launched, registered and
// initialized.
const (
	ReasonLaunchFailed              = "LaunchFailed"
	ReasonInsufficientCapacity      = "InsufficientCapacity"
	ReasonUnregisteredTaintNotFound = "UnregisteredTaintNotFound"
	ReasonMultipleNodesFound        = "MultipleNodesFound"
	ReasonNodeNotFound              = "NodeNotFound"
	ReasonNodeNotReady              = "NodeNotReady"
	ReasonStartupTaintsExist        = "StartupTaintsExist"
	ReasonKnownEphemeralTaintsExist = "KnownEphemeralTaintsExist"
	ReasonResourceNotRegistered     = "ResourceNotRegistered"
)

// MessageNodeNotFound goes with ReasonNodeNotFound.
const MessageNodeNotFound = "Node not registered with cluster"

// Reasons of a NodeClaim's condition Drifted.
const (
	ReasonNodePoolDrifted          = "NodePoolDrifted"
	ReasonRequirementsDrifted      = "RequirementsDrifted"
	ReasonInstanceTypeNotFound     = "InstanceTypeNotFound"
	ReasonNodeClassDrift           = "NodeClassDrift"
	ReasonAMIDrift                 = "AMIDrift"
	ReasonSecurityGroupDrift       = "SecurityGroupDrift"
	ReasonSubnetDrift              = "SubnetDrift"
	ReasonCapacityReservationDrift = "CapacityReservationDrift"
	ReasonPlacementGroupDrift      = "PlacementGroupDrift"
)

// NodeClaimReadyDependents are the conditions that a NodeClaim's Ready sums up.
func NodeClaimReadyDependents() []string {
	return []string{ConditionTypeLaunched, ConditionTypeRegistered, ConditionTypeInitialized}
}

// Conditions of an EC2NodeClass.
const (
	ConditionTypeAMIsReady                 = "AMIsReady"
	ConditionTypeSubnetsReady              = "SubnetsReady"
	ConditionTypeSecurityGroupsReady       = "SecurityGroupsReady"
	ConditionTypeInstanceProfileReady      = "InstanceProfileReady"
	ConditionTypePlacementGroupReady       = "PlacementGroupReady"
	ConditionTypeCapacityReservationsReady = "CapacityReservationsReady"
)

// Reasons of an EC2NodeClass's conditions.
const (
	ReasonSubnetsNotFound                     = "SubnetsNotFound"
	ReasonSecurityGroupsNotFound              = "SecurityGroupsNotFound"
	ReasonAMINotFound                         = "AMINotFound"
	ReasonUnsupportedAlias                    = "UnsupportedAlias"
	ReasonPlacementGroupNotFound              = "PlacementGroupNotFound"
	ReasonPlacementGroupResolutionFailed      = "PlacementGroupResolutionFailed"
	ReasonDependenciesNotReady                = "DependenciesNotReady"
	ReasonTagValidationFailed                 = "TagValidationFailed"
	ReasonClusterCIDRResolutionFailed         = "ClusterCIDRResolutionFailed"
	ReasonCreateFleetAuthCheckFailed          = "CreateFleetAuthCheckFailed"
	ReasonCreateLaunchTemplateAuthCheckFailed = "CreateLaunchTemplateAuthCheckFailed"
	ReasonRunInstancesAuthCheckFailed         = "RunInstancesAuthCheckFailed"
	ReasonInstanceProfileNotFound             = "InstanceProfileNotFound"
	ReasonUserDataSizeLimitExceeded           = "UserDataSizeLimitExceeded"
	// ReasonLaunchRefused is of whichever condition a launch that EC2 refused has shown to
	// be wrong.
	ReasonLaunchRefused                     = "LaunchRefused"
	ReasonDryRunDisabled                    = "DryRunDisabled"
	ReasonInvalidKubeletConfiguration       = "InvalidKubeletConfiguration"
	ReasonUnsupportedKubeletConfiguration   = "UnsupportedKubeletConfiguration"
	ReasonKubeletExpressionsDisabled        = "KubeletExpressionsDisabled"
	ReasonKubeletExpressionInvalid          = "KubeletExpressionInvalid"
	ReasonKubeletExpressionEvaluationFailed = "KubeletExpressionEvaluationFailed"
)

// EC2NodeClassReadyDependents are the conditions that an EC2NodeClass's Ready sums
// up, apart from CapacityReservationsReady, which counts only where a class selects
// reservations.
func EC2NodeClassReadyDependents() []string {
	return []string{
		ConditionTypeAMIsReady, ConditionTypeSubnetsReady, ConditionTypeSecurityGroupsReady,
		ConditionTypeInstanceProfileReady, ConditionTypeValidationSucceeded, ConditionTypePlacementGroupReady,
	}
}

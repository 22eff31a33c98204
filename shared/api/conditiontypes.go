package api

// ConditionReady summarises the other conditions of an object.
const ConditionReady = "Ready"

// Reasons of ConditionReady when it is not true.
const (
	// ReasonUnhealthyDependents means that a condition that Ready depends on is False.
	ReasonUnhealthyDependents = "UnhealthyDependents"
	// ReasonReconcilingDependents means that a condition that Ready depends on is Unknown.
	ReasonReconcilingDependents = "ReconcilingDependents"
)

// ConditionTypeValidationSucceeded tells whether an object passed Validate. NodePool, EC2NodeClass
// and NodeOverlay have it.
const ConditionTypeValidationSucceeded = "ValidationSucceeded"

// Conditions of a NodePool.
const (
	// ConditionTypeNodeClassReady tells whether the pool's node class is ready.
	ConditionTypeNodeClassReady = "NodeClassReady"
	// ConditionTypeNodeRegistrationHealthy tells whether launched nodes join the cluster. Ready
	// does not depend on it.
	ConditionTypeNodeRegistrationHealthy = "NodeRegistrationHealthy"
	// ConditionTypeReleaseHalted is True while drift of the pool stops, because new nodes do worse than the
	// nodes before.
	ConditionTypeReleaseHalted = "ReleaseHalted"
	// ConditionTypeNodeRepairBlocked is True while so many of the pool's nodes are unhealthy that
	// Whittle repairs none. Karpenter does not have it, and Ready does not depend on it.
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
	ReasonNewNodesWorse            = "NewNodesWorse"
	ReasonAwaitingReconciliation   = "AwaitingReconciliation"
)

// NodePoolReadyDependents returns the conditions that a NodePool's Ready depends on.
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
	// ConditionTypeRebooting is True while the node is rebooted to repair it. ReasonRebooting is the
	// reason of Initialized meanwhile.
	ConditionTypeRebooting = "Rebooting"
)

// Reasons of a NodeClaim's condition Rebooting: the steps of a reboot, then its ends.
const (
	ReasonRebootRequested = "RebootRequested"
	ReasonRebootIssued    = "RebootIssued"
	ReasonRebootSucceeded = "RebootSucceeded"
	ReasonRebootFailed    = "RebootFailed"
)

// Reasons of a NodeClaim's conditions while it is launched, registered and
// initialized.
const (
	ReasonLaunchFailed = "LaunchFailed"
	// ReasonNodeClassReadinessUnknown means that nobody has resolved the claim's class yet.
	ReasonNodeClassReadinessUnknown = "NodeClassReadinessUnknown"

	ReasonUnregisteredTaintNotFound = "UnregisteredTaintNotFound"
	ReasonMultipleNodesFound        = "MultipleNodesFound"
	ReasonNodeNotFound              = "NodeNotFound"
	ReasonInstanceEnded             = "InstanceEnded"
	ReasonNodeNotReady              = "NodeNotReady"
	ReasonStartupTaintsExist        = "StartupTaintsExist"
	ReasonKnownEphemeralTaintsExist = "KnownEphemeralTaintsExist"
	ReasonResourceNotRegistered     = "ResourceNotRegistered"
	ReasonRebooting                 = "Rebooting"
)

// Reasons of a NodeClaim's conditions once it is initialized, until its end.
const (
	ReasonConsistencyCheckFailed   = "ConsistencyCheckFailed"
	ReasonDraining                 = "Draining"
	ReasonAwaitingVolumeDetachment = "AwaitingVolumeDetachment"
)

// MessageNodeNotFound is the message beside ReasonNodeNotFound.
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

// NodeClaimReadyDependents returns the conditions that a NodeClaim's Ready depends on.
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
	ReasonCapacityReservationResolutionFailed = "CapacityReservationResolutionFailed"
	// ReasonValidationFailed is the reason for fields that Karpenter's schema refuses, and that
	// have no reason of their own.
	ReasonValidationFailed                    = "ValidationFailed"
	ReasonDependenciesNotReady                = "DependenciesNotReady"
	ReasonTagValidationFailed                 = "TagValidationFailed"
	ReasonClusterCIDRResolutionFailed         = "ClusterCIDRResolutionFailed"
	ReasonCreateFleetAuthCheckFailed          = "CreateFleetAuthCheckFailed"
	ReasonCreateLaunchTemplateAuthCheckFailed = "CreateLaunchTemplateAuthCheckFailed"
	ReasonRunInstancesAuthCheckFailed         = "RunInstancesAuthCheckFailed"
	// ReasonDryRunRefused is the reason of a class that EC2 would refuse, and no policy does.
	ReasonDryRunRefused             = "DryRunRefused"
	ReasonInstanceProfileNotFound   = "InstanceProfileNotFound"
	ReasonUserDataSizeLimitExceeded = "UserDataSizeLimitExceeded"
	// ReasonLaunchRefused belongs to the condition that a refusal of EC2 at a launch contradicted.
	ReasonLaunchRefused                     = "LaunchRefused"
	ReasonDryRunDisabled                    = "DryRunDisabled"
	ReasonInvalidKubeletConfiguration       = "InvalidKubeletConfiguration"
	ReasonUnsupportedKubeletConfiguration   = "UnsupportedKubeletConfiguration"
	ReasonKubeletExpressionsDisabled        = "KubeletExpressionsDisabled"
	ReasonKubeletExpressionInvalid          = "KubeletExpressionInvalid"
	ReasonKubeletExpressionEvaluationFailed = "KubeletExpressionEvaluationFailed"
)

// EC2NodeClassReadyDependents returns the conditions that an EC2NodeClass's Ready depends on.
// CapacityReservationsReady joins them only where a class selects reservations.
func EC2NodeClassReadyDependents() []string {
	return []string{
		ConditionTypeAMIsReady, ConditionTypeSubnetsReady, ConditionTypeSecurityGroupsReady,
		ConditionTypeInstanceProfileReady, ConditionTypeValidationSucceeded, ConditionTypePlacementGroupReady,
	}
}

// Condition types of Provisioners and AWSNodeTemplates, the kinds before NodePool and EC2NodeClass.
const (
	// ConditionTypeActive tells whether a Provisioner has a NodePool that may launch nodes.
	ConditionTypeActive = "Active"
	// ConditionTypeSupported tells whether everything that the object asks for still exists.
	ConditionTypeSupported = "Supported"
)

// Reasons of these conditions.
const (
	// ReasonFieldNotSupported says that a field asks for what no longer exists.
	ReasonFieldNotSupported = "FieldNotSupported"
	// ReasonNotConverted says that the object cannot become a NodePool and an EC2NodeClass.
	ReasonNotConverted = "NotConverted"
	// ReasonNameTaken says that another NodePool or EC2NodeClass has the Provisioner's name.
	ReasonNameTaken = "NameTaken"
	// ReasonNodePoolNotReady says that the Provisioner's NodePool is not ready.
	ReasonNodePoolNotReady = "NodePoolNotReady"
)

package api

import (
	"slices"
)

// ConditionType describes a condition of a kind.
//
// +kubebuilder:object:generate=false
type ConditionType struct {
	// Kind is the kind of the objects that have the condition, and Type its type.
	Kind, Type string
	// Meaning is what the status True means, as a sentence for people.
	Meaning string
	// Reasons are the reasons beyond the type itself, mostly of the statuses False and Unknown.
	Reasons []string
}

// ConditionTypes returns every condition that Whittle writes, by kind, in the order in which an
// object gets them.
func ConditionTypes() []ConditionType {
	return slices.Concat(
		nodePoolConditions(), nodeClaimConditions(), nodeClassConditions(), nodeOverlayConditions(), bufferConditions(),
		requestConditions(), oldConditions(),
	)
}

func readyReasons() []string { return []string{ReasonUnhealthyDependents, ReasonReconcilingDependents} }

func nodePoolConditions() []ConditionType {
	conditions := []ConditionType{
		{Type: ConditionTypeValidationSucceeded, Meaning: "The pool passed its validation.",
			Reasons: []string{ReasonNodePoolValidationFailed}},
		{Type: ConditionTypeNodeClassReady, Meaning: "The pool's node class is ready.",
			Reasons: []string{ReasonNodeClassNotFound, ReasonNodeClassNotReady, ReasonNodeClassTerminating}},
		{Type: ConditionReady, Meaning: "The pool may launch nodes.", Reasons: readyReasons()},
		{Type: ConditionTypeNodeRegistrationHealthy, Meaning: "Launched nodes join the cluster.",
			Reasons: []string{ReasonRegistrationFailed, ReasonAwaitingReconciliation}},
		{Type: ConditionTypeNodeRepairBlocked, Meaning: "So many nodes are unhealthy that Whittle repairs none.",
			Reasons: []string{ReasonTooManyUnhealthyNodes}},
		{Type: ConditionTypeReleaseHalted, Meaning: "New nodes do worse than the nodes before, so that drift stops.",
			Reasons: []string{ReasonNewNodesWorse}},
	}
	return ofKind(NodePoolKind, conditions)
}

func nodeClaimConditions() []ConditionType {
	conditions := []ConditionType{
		{Type: ConditionTypeLaunched, Meaning: "EC2 launched the instance.",
			Reasons: []string{ReasonLaunchFailed, ReasonNodeClassReadinessUnknown}},
		{Type: ConditionTypeRegistered, Meaning: "The node joined the cluster, and has its labels and taints.",
			Reasons: []string{ReasonNodeNotFound, ReasonInstanceEnded, ReasonMultipleNodesFound,
				ReasonUnregisteredTaintNotFound}},
		{Type: ConditionTypeInitialized,
			Meaning: "The node is ready, has its resources, and lost its startup taints.",
			Reasons: []string{ReasonNodeNotFound, ReasonNodeNotReady, ReasonStartupTaintsExist,
				ReasonKnownEphemeralTaintsExist, ReasonResourceNotRegistered, ReasonRebooting}},
		{Type: ConditionReady, Meaning: "The node is launched, registered and initialized.", Reasons: readyReasons()},
		{Type: ConditionTypeConsistentStateFound, Meaning: "The node has the resources of its claim.",
			Reasons: []string{ReasonConsistencyCheckFailed}},
		{Type: ConditionTypeConsolidatable, Meaning: "`consolidateAfter` has passed since the last pod event."},
		{Type: ConditionTypeDrifted, Meaning: "The node differs from its pool or class.",
			Reasons: []string{ReasonNodePoolDrifted, ReasonRequirementsDrifted, ReasonInstanceTypeNotFound, ReasonNodeClassDrift,
				ReasonAMIDrift, ReasonSubnetDrift, ReasonSecurityGroupDrift, ReasonCapacityReservationDrift,
				ReasonPlacementGroupDrift}},
		{Type: ConditionTypeDisruptionReason, Meaning: "The node is being disrupted. The reason tells why."},
		{Type: ConditionTypeRebooting, Meaning: "The node is rebooted to repair it.",
			Reasons: []string{ReasonRebootRequested, ReasonRebootIssued, ReasonRebootSucceeded, ReasonRebootFailed}},
		{
			Type: ConditionTypeDrained, Meaning: "No pod that must move is left on the node.",
			Reasons: []string{ReasonDraining},
		},
		{Type: ConditionTypeVolumesDetached, Meaning: "No volume is left on the node.",
			Reasons: []string{ReasonAwaitingVolumeDetachment}},
		{Type: ConditionTypeInstanceTerminating, Meaning: "Whittle asked EC2 to terminate the instance."},
	}
	return ofKind(NodeClaimKind, conditions)
}

func nodeClassConditions() []ConditionType {
	conditions := []ConditionType{
		{Type: ConditionTypeAMIsReady, Meaning: "The class selects at least one image.",
			Reasons: []string{ReasonAMINotFound, ReasonUnsupportedAlias}},
		{Type: ConditionTypeSubnetsReady, Meaning: "The class selects at least one subnet.",
			Reasons: []string{ReasonSubnetsNotFound}},
		{Type: ConditionTypeSecurityGroupsReady, Meaning: "The class selects at least one security group.",
			Reasons: []string{ReasonSecurityGroupsNotFound}},
		{Type: ConditionTypeInstanceProfileReady, Meaning: "The instance profile exists and has its role.",
			Reasons: []string{ReasonInstanceProfileNotFound}},
		{Type: ConditionTypePlacementGroupReady, Meaning: "The placement group exists, or the class names none.",
			Reasons: []string{ReasonPlacementGroupNotFound, ReasonPlacementGroupResolutionFailed}},
		{Type: ConditionTypeCapacityReservationsReady, Meaning: "The class's capacity reservations are known.",
			Reasons: []string{ReasonCapacityReservationResolutionFailed}},
		{Type: ConditionTypeValidationSucceeded, Meaning: "The class passed its validation, and the dry runs of a launch.",
			Reasons: []string{ReasonValidationFailed, ReasonDependenciesNotReady, ReasonTagValidationFailed,
				ReasonUserDataSizeLimitExceeded,
				ReasonInvalidKubeletConfiguration, ReasonUnsupportedKubeletConfiguration, ReasonKubeletExpressionsDisabled,
				ReasonKubeletExpressionInvalid, ReasonKubeletExpressionEvaluationFailed,
				ReasonClusterCIDRResolutionFailed, ReasonCreateFleetAuthCheckFailed,
				ReasonCreateLaunchTemplateAuthCheckFailed, ReasonRunInstancesAuthCheckFailed, ReasonDryRunRefused,
				ReasonDryRunDisabled, ReasonInstanceEnded}},
		{Type: ConditionReady, Meaning: "Nodes may be launched with the class. After EC2 refused a launch, the condition " +
			"that the refusal contradicts has the reason `" + ReasonLaunchRefused + "`.",
			Reasons: append(readyReasons(), ReasonNodeClassTerminating)},
	}
	return ofKind(EC2NodeClassKind, conditions)
}

func nodeOverlayConditions() []ConditionType {
	conditions := []ConditionType{
		{Type: ConditionTypeValidationSucceeded, Meaning: "The overlay passed its validation and conflicts with no other.",
			Reasons: []string{ReasonOverlayRuntimeValidation, ReasonOverlayConflict}},
		{Type: ConditionReady, Meaning: "The overlay applies.", Reasons: readyReasons()},
	}
	return ofKind(NodeOverlayKind, conditions)
}

func bufferConditions() []ConditionType {
	conditions := []ConditionType{
		{Type: ConditionReadyForProvisioning, Meaning: "The buffer's pods are known.",
			Reasons: []string{ReasonBufferResolved, ReasonPodTemplateNotFound, ReasonScalableRefNotFound,
				ReasonResolutionFailed}},
		{Type: ConditionProvisioning, Meaning: "Nodes have room for all of the buffer's pods.",
			Reasons: []string{ReasonFitsExistingCapacity, ReasonRequiresNewCapacity, ReasonNotReadyForProvisioning,
				ReasonBufferEmpty}},
	}
	return ofKind(CapacityBufferKind, conditions)
}

func requestConditions() []ConditionType {
	conditions := []ConditionType{
		{Type: ConditionAccepted, Meaning: "Whittle plans for the request."},
		{Type: ConditionProvisioned, Meaning: "Nodes that are initialized have room for all of the request's pods.",
			Reasons: []string{ReasonCapacityIsFound, ReasonCapacityIsProvisioned, ReasonCapacityIsNotFound}},
		{Type: ConditionFailed, Meaning: "The request has ended without room.",
			Reasons: []string{ReasonFailedToCreatePods, ReasonCapacityIsNotFound}},
		{Type: ConditionBookingExpired, Meaning: "No room is held for the request any more.",
			Reasons: []string{ReasonCapacityReservationTimeEnded, ReasonCapacityBookingConsumed}},
	}
	return ofKind(ProvisioningRequestKind, conditions)
}

// oldConditions are those of the kinds before NodePool and EC2NodeClass.
func oldConditions() []ConditionType {
	supported := ConditionType{
		Type: ConditionTypeSupported, Meaning: "Everything that the object asks for still exists.",
		Reasons: []string{ReasonFieldNotSupported, ReasonNotConverted},
	}
	active := ConditionType{
		Type: ConditionTypeActive, Meaning: "The Provisioner's NodePool may launch nodes.",
		Reasons: []string{ReasonNotConverted, ReasonNameTaken, ReasonNodePoolNotReady},
	}
	return append(
		ofKind("Provisioner", []ConditionType{active, supported}), ofKind("AWSNodeTemplate", []ConditionType{supported})...,
	)
}

func ofKind(kind string, conditions []ConditionType) []ConditionType {
	for i := range conditions {
		conditions[i].Kind = kind
	}
	return conditions
}

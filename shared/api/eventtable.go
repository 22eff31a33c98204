package api

import "slices"

// EventReason describes a kind of Kubernetes event that Whittle writes.
//
// +kubebuilder:object:generate=false
type EventReason struct {
	Reason string
	// On names the kinds of the objects that the event is about.
	On []string
	// Functions are the functions that write the event.
	Functions []string
	// Meaning is a sentence for people.
	Meaning string
}

// EventReasonInternalError is the reason of events about a failure of EC2, or about a defect that one
// object shows.
const EventReasonInternalError = "InternalError"

// EventReasonInvalidPriceAnnotation is the reason of events about NodeFeeAnnotationKey and
// InterruptionCostAnnotationKey.
const EventReasonInvalidPriceAnnotation = "InvalidPriceAnnotation"

// EventReasonInvalidHoursAnnotation is the reason of events about the annotations of a pool's hours.
const EventReasonInvalidHoursAnnotation = "InvalidHoursAnnotation"

// EventReasonSpotInterrupted is the reason of events about spot interruptions. A node that interrupt took out of
// use for one has it as its InterruptedAnnotationKey.
const EventReasonSpotInterrupted = "SpotInterrupted"

// EventReasonInvalidClusterOrder is the reason of events about the ConfigMap whittle-control.
const EventReasonInvalidClusterOrder = "InvalidClusterOrder"

// EventReasonCommitmentEnds is the reason of events about a Reserved Instance or a Savings Plan that ends soon.
const EventReasonCommitmentEnds = "CommitmentEnds"

// EventReasonFrozen and EventReasonThawed are the reasons of events about the beginning and the end of a freeze.
const (
	EventReasonFrozen = "Frozen"
	EventReasonThawed = "Thawed"
)

// EventReasonReleaseHalted is the reason of the event about a release whose new nodes do worse.
const EventReasonReleaseHalted = "ReleaseHalted"

// EventReasonNoCompatibleInstanceTypes is the reason of events about a NodePool whose requirements or
// minValues leave no instance type.
const EventReasonNoCompatibleInstanceTypes = "NoCompatibleInstanceTypes"

// EventReasonTerminated is the reason of the event that ends a claim's story.
const EventReasonTerminated = "Terminated"

// EventReasons returns the reasons of the events that Whittle writes, by function. Reasons that are
// also in Karpenter have its meaning. The reasons of failed launches, which package fleet lists,
// and the reasons of conditions, which ConditionTypes lists, are not among them.
func EventReasons() []EventReason {
	return slices.Concat(provisionEvents(), lifecycleEvents(), disruptEvents(), interruptEvents())
}

func provisionEvents() []EventReason {
	by := []string{"provision"}
	return []EventReason{
		{
			"FailedScheduling", []string{"pod"}, by,
			"No plan has a place for the pod. The message gives a reason for each pool.",
		},
		{"Nominated", []string{"pod"}, by, "The pod was planned for the named node or NodeClaim."},
		{
			"InsufficientCapacityError", []string{NodeClaimKind, NodePoolKind}, by,
			"EC2 or the pool has no capacity for the claim.",
		},
		{
			EventReasonNoCompatibleInstanceTypes, []string{NodePoolKind}, by,
			"The pool's requirements or minValues leave no instance type with an available offering.",
		},
		{
			EventReasonInvalidPriceAnnotation, []string{NodePoolKind}, by,
			"`whittle.dev/node-fee` or `whittle.dev/interruption-cost` cannot be read, and counts as absent.",
		},
		{
			EventReasonInvalidHoursAnnotation, []string{NodePoolKind}, by,
			"`whittle.dev/sleep`, `whittle.dev/wake-ahead`, `whittle.dev/maintenance-window` or `whittle.dev/time-zone` " +
				"cannot be read. The pool launches as if it were awake, and no maintenance window that cannot be read opens.",
		},
		{
			EventReasonInvalidClusterOrder, []string{NodePoolKind}, by,
			"A key of the ConfigMap `whittle-control` cannot be read. Nothing sleeps by it. A freeze counts until it is mended.",
		},
		{
			EventReasonFrozen, []string{NodePoolKind}, by,
			"A person or a CloudWatch alarm froze the pool or the cluster. The message says who or which, and how long.",
		},
		{
			"CapacityQuotaNotCounted", []string{CapacityQuotaKind}, by,
			"The quota bounds nothing, or not what it seems to. The message names the field.",
		},
		{
			"DaemonSetNotCounted", []string{"DaemonSet"}, by,
			"Plans keep no room on new nodes for the DaemonSet's pods. The message says why.",
		},
		{
			EventReasonThawed, []string{NodePoolKind}, by,
			"A freeze has ended: by its time, by a person, or with its alarm.",
		},
		{
			ConditionTypeLaunched, []string{NodeClaimKind}, by,
			"EC2 launched the instance. The message has its type, zone and price.",
		},
		{ReasonLaunchFailed, []string{NodeClaimKind}, by, "EC2 refused the launch, or the request could not be built."},
		{"RequestLimitExceeded", []string{NodeClaimKind}, by, "EC2 throttled the launch. Whittle tries again."},
		{
			EventReasonInternalError,
			[]string{NodeClaimKind, NodePoolKind, EC2NodeClassKind}, []string{"provision", "lifecycle"},
			"EC2 failed, and Whittle tries again. Or a defect keeps Whittle from working on this object only.",
		},
	}
}

func lifecycleEvents() []EventReason {
	by, claims, nodes := []string{"lifecycle"}, []string{NodeClaimKind}, []string{"node"}
	return []EventReason{
		{ConditionTypeRegistered, claims, by, "The condition Registered became True."},
		{ConditionTypeInitialized, claims, by, "The condition Initialized became True."},
		{EventReasonTerminated, claims, by, "The instance has ended. The message says why, and how long the claim lived."},
		{
			ReasonInstanceEnded, []string{NodeClaimKind, EC2NodeClassKind}, by,
			"EC2 ended the instance before it joined. Where the class is the cause, nothing new is launched with it for " +
				"ten minutes.",
		},
		{"UnregisteredTaintMissing", claims, by, "The node joined without the taint karpenter.sh/unregistered."},
		{"FailedConsistencyCheck", claims, by, "The node has fewer resources than its claim, or its drain lasts for long."},
		{
			"Disrupted", []string{"pod"}, by,
			"The pod was deleted, because its node's time is over or its instance does not run.",
		},
		{"Evicted", []string{"pod"}, by, "The pod was evicted from a node that is leaving."},
		{
			"InvalidDoNotDisruptAnnotation", []string{"pod"}, []string{"disrupt", "lifecycle"},
			"The annotation is neither `true` nor a duration. It protects nothing.",
		},
		{"DoNotDisruptUntil", []string{"pod"}, by, "The pod stays on the leaving node until its annotation's time is over."},
		{
			"DoNotDisruptGracePeriodElapsed", []string{"pod"}, by,
			"The time of the pod's annotation is over, and it leaves the node.",
		},
		{"FailedDraining", nodes, by, "A disruption budget or an annotation keeps pods on the node."},
		{"AwaitingVolumeDetachment", nodes, by, "Volumes are still attached to the node."},
		{
			"TerminationGracePeriodExpiring", []string{"node", NodeClaimKind}, by,
			"The node's pods are deleted at the given time.",
		},
		{"Bound", nodes, by, "Whittle bound so many of the pods for which the node was launched."},
		{"PodsRefused", nodes, by, "The kubelet refused pods that were planned for the node. Their controllers make others."},
		{"NodeVanished", claims, by, "The node was removed without its finalizer. Its instance must join again."},
		{"InstanceTagsMissing", claims, by, "The instance lost tags without which Whittle may not terminate it."},
		{
			"FailedTermination", append(slices.Clone(claims), EC2NodeClassKind), by,
			"The claim has no valid providerID, so nothing can be terminated. Or AWS denies what the end of a class needs.",
		},
		{
			"WaitingOnNodeClaimTermination", []string{EC2NodeClassKind}, by,
			"The class is being deleted, and claims still name it.",
		},
		{
			ConditionTypeNodeRepairBlocked, []string{NodePoolKind, NodeClaimKind, "node"}, by,
			"Too many nodes of the pool are unhealthy for a repair.",
		},
		{EventReasonRebootObserved, claims, by, "The unhealthy node was rebooted, and is back."},
		{
			EventReasonRebootFailed, claims, by,
			"The reboot of an unhealthy node failed. The node is replaced, unless its request was invalid.",
		},
		{
			EventReasonCommitmentEnds, []string{"configmap"}, by,
			"A Reserved Instance or a Savings Plan ends within 30 days, and once more within 7. The event is about " +
				"`whittle-commitments-used`.",
		},
		{
			EventReasonZonalShiftActive, []string{NodePoolKind, NodeClaimKind}, []string{"provision", "lifecycle"},
			"A zonal shift moves traffic away from a zone. Nothing is launched or ended there.",
		},
		{
			EventReasonZonalShiftCleared, []string{NodePoolKind}, []string{"provision", "lifecycle"},
			"The zonal shift has ended.",
		},
	}
}

func disruptEvents() []EventReason {
	by, both := []string{"disrupt"}, []string{"node", NodeClaimKind}
	return []EventReason{
		{"ConsolidationCandidate", both, by, "A move is proposed, and waits for its validation."},
		{"ConsolidationApproved", both, by, "The move passed its validation on a fresh snapshot."},
		{"ConsolidationRejected", both, by, "The move failed its validation on a fresh snapshot."},
		{"Unconsolidatable", both, by, "The node stays. The message gives the reason."},
		{"DisruptionLaunching", []string{NodeClaimKind}, by, "Replacements of the node are being launched."},
		{"DisruptionWaitingReadiness", []string{NodeClaimKind}, by, "Nodes wait until this replacement is initialized."},
		{"DisruptionTerminating", both, []string{"disrupt", "lifecycle"}, "The node is being removed."},
		{
			"DisruptionBlocked", []string{"node", NodeClaimKind, NodePoolKind}, []string{"disrupt", "lifecycle"},
			"A disruption is due, and something prevents it.",
		},
		{EventReasonReleaseHalted, []string{NodePoolKind}, by,
			"New nodes do worse than the nodes before, so that drift stops. The message names one, and what ends the halt."},
		{"RestartedToMove", []string{"Deployment"}, by, "The Deployment was restarted to move its pods, new ones first."},
	}
}

func interruptEvents() []EventReason {
	by, both := []string{"interrupt"}, []string{"node", NodeClaimKind}
	return []EventReason{
		{EventReasonSpotInterrupted, both, by, "EC2 interrupts the spot instance in two minutes."},
		{"SpotRebalanceRecommendation", both, by, "EC2 recommends to replace the spot instance."},
		{"CapacityReservationInstanceInterrupted", both, by, "The capacity reservation or block of the instance ends."},
		{"InstanceStopping", both, by, "The instance is stopping or stopped."},
		{"InstanceTerminating", both, by, "The instance is shutting down or terminated."},
		{
			"InstanceUnhealthy", both, []string{"interrupt", "lifecycle"},
			"AWS announced maintenance, or EC2's status checks fail.",
		},
		{"TerminatingOnInterruption", both, by, "The node is being drained because of the interruption."},
	}
}

// Reasons of the events about reboots, as in Karpenter.
const (
	EventReasonRebootObserved = "RebootObserved"
	EventReasonRebootFailed   = "RebootFailed"
)

// Reasons of the events about zonal shifts, as in Karpenter.
const (
	EventReasonZonalShiftActive  = "ZonalShiftActive"
	EventReasonZonalShiftCleared = "ZonalShiftCleared"
)

package nodestate

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/api"
)

// Step is the word for something that happens to nodes, and for the pods that wait for them.
type Step string

// The steps. Those of a node's life have the words of its states and of its conditions.
const (
	StepPending      Step = "pending"
	StepPlanned      Step = "planned"
	StepLaunched     Step = "launched"
	StepRefused      Step = "refused"
	StepBound        Step = "bound"
	StepRegistered   Step = "registered"
	StepInitialized  Step = "initialized"
	StepInterrupted  Step = "interrupted"
	StepDrifted      Step = "drifted"
	StepProposed     Step = "proposed"
	StepMoved        Step = "moved"
	StepExpired      Step = "expired"
	StepUnhealthy    Step = "unhealthy"
	StepRebooted     Step = "rebooted"
	StepBlocked      Step = "blocked"
	StepDraining     Step = "draining"
	StepEvicted      Step = "evicted"
	StepDrained      Step = "drained"
	StepTerminated   Step = "terminated"
	StepFailed       Step = "failed"
	StepZonalShifted Step = "zone shifted"
	StepFrozen       Step = "frozen"
	StepExpiring     Step = "commitment ends"
)

// StepEntry describes a step.
type StepEntry struct {
	Step    Step
	Meaning string
	// Reasons are those of the Kubernetes events about the step.
	Reasons []string
	// Messages are the log lines of the functions that say that the step was taken: once for each
	// node, or with a list of nodes.
	Messages []string
}

// Steps lists the steps in the order in which one leads to the next.
func Steps() []StepEntry { return append(stepsOfLife(), stepsOfEnd()...) }

func stepsOfLife() []StepEntry {
	return []StepEntry{
		{Step: StepPending, Meaning: "Pods wait, and no plan has a place for them.", Reasons: []string{"FailedScheduling"}},
		{Step: StepPlanned, Meaning: "A plan has a place for the pod, or makes a NodeClaim.", Reasons: []string{"Nominated"}},
		{
			Step: StepLaunched, Meaning: "EC2 launched the instance.",
			Reasons: []string{api.ConditionTypeLaunched}, Messages: []string{"launched nodeclaim"},
		},
		{
			Step: StepRefused, Meaning: "EC2 refused the launch, or the claim was given up.",
			Reasons: []string{
				"InsufficientCapacityError", api.EventReasonNoCompatibleInstanceTypes, api.ReasonLaunchFailed,
				"RequestLimitExceeded", api.ReasonInstanceEnded,
			},
			Messages: []string{"failed launching nodeclaim", "giving up nodeclaim"},
		},
		{Step: StepBound, Meaning: "Pods got the node that was launched for them.", Reasons: []string{"Bound"}},
		{
			Step: StepRegistered, Meaning: "The node joined the cluster.",
			Reasons: []string{api.ConditionTypeRegistered}, Messages: []string{"registered nodeclaim"},
		},
		{
			Step: StepInitialized, Meaning: "The node is ready for its pods.",
			Reasons: []string{api.ConditionTypeInitialized}, Messages: []string{"initialized nodeclaim"},
		},
	}
}

func stepsOfEnd() []StepEntry {
	return []StepEntry{
		{
			Step: StepInterrupted, Meaning: "AWS takes the instance, or recommends to replace it.",
			Reasons: []string{
				api.EventReasonSpotInterrupted, "SpotRebalanceRecommendation", "CapacityReservationInstanceInterrupted",
				"InstanceStopping",
				"InstanceTerminating", "InstanceUnhealthy",
			},
			Messages: []string{
				"initiating delete from interruption message", "deleting nodeclaim before its instance is taken",
			},
		},
		{
			Step: StepDrifted, Meaning: "The node differs from its NodePool or EC2NodeClass.",
			Messages: []string{"marking drifted"},
		},
		{Step: StepProposed, Meaning: "A consolidation move waits for its validation.", Reasons: []string{
			"ConsolidationCandidate",
		}},
		{
			Step: StepMoved, Meaning: "Disrupt removes the node, and replaces it where its pods need that.",
			Reasons:  []string{"ConsolidationApproved", "DisruptionLaunching", "DisruptionWaitingReadiness", "RestartedToMove"},
			Messages: []string{"disrupting node(s)"},
		},
		{
			Step: StepExpired, Meaning: "The node has reached `expireAfter`.",
			Messages: []string{"deleting expired nodeclaim"},
		},
		{
			Step: StepUnhealthy, Meaning: "A repair of the node is due.",
			Messages: []string{"deleting unhealthy node", "deleting nodeclaim after a failed reboot"},
		},
		{
			Step: StepRebooted, Meaning: "The unhealthy node was rebooted.",
			Reasons: []string{api.EventReasonRebootObserved, api.EventReasonRebootFailed},
		},
		{
			Step: StepBlocked, Meaning: "Something keeps the node, or holds up its drain.",
			Reasons: []string{
				"ConsolidationRejected", "Unconsolidatable", "DisruptionBlocked", "FailedDraining", "AwaitingVolumeDetachment",
				"DoNotDisruptUntil", "InvalidDoNotDisruptAnnotation", api.ConditionTypeNodeRepairBlocked,
				api.EventReasonReleaseHalted,
			},
		},
		{
			Step: StepDraining, Meaning: "The node leaves, and its pods are evicted.",
			Reasons: []string{
				"DisruptionTerminating", "TerminatingOnInterruption", "TerminationGracePeriodExpiring",
				"DoNotDisruptGracePeriodElapsed",
			},
		},
		{Step: StepEvicted, Meaning: "A pod left a node that leaves.", Reasons: []string{"Evicted", "Disrupted"}},
		{Step: StepDrained, Meaning: "No pod is left that must move.", Messages: []string{"drained node"}},
		{
			Step: StepTerminated, Meaning: "The instance has ended.",
			Reasons:  []string{api.EventReasonTerminated, "NodeVanished"},
			Messages: []string{"deleted nodeclaim"},
		},
		{
			Step: StepFailed, Meaning: "A function failed, or an object keeps Whittle from working.",
			Reasons: []string{
				api.EventReasonInternalError, api.EventReasonInvalidPriceAnnotation, api.EventReasonInvalidClusterOrder,
				api.EventReasonInvalidHoursAnnotation,
				"CapacityQuotaNotCounted", "DaemonSetNotCounted",
				"UnregisteredTaintMissing", "FailedConsistencyCheck",
				"FailedTermination", "PodsRefused", "InstanceTagsMissing", "WaitingOnNodeClaimTermination",
			},
		},
		{
			Step: StepZonalShifted, Meaning: "A zonal shift began or ended.",
			Reasons: []string{api.EventReasonZonalShiftActive, api.EventReasonZonalShiftCleared},
		},
		{
			Step: StepFrozen, Meaning: "A freeze began or ended.",
			Reasons: []string{api.EventReasonFrozen, api.EventReasonThawed},
		},
		{
			Step: StepExpiring, Meaning: "A Reserved Instance or a Savings Plan ends soon.",
			Reasons: []string{api.EventReasonCommitmentEnds},
		},
	}
}

// StepOfReason is the step that an event of the reason is about, or empty.
func StepOfReason(reason string) Step {
	return stepWith(func(e StepEntry) bool { return slices.Contains(e.Reasons, reason) })
}

// StepOfMessage is the step that a log line with the message is about, or empty.
func StepOfMessage(message string) Step {
	return stepWith(func(e StepEntry) bool { return slices.Contains(e.Messages, message) })
}

func stepWith(has func(StepEntry) bool) Step {
	all := Steps()
	if i := slices.IndexFunc(all, has); i >= 0 {
		return all[i].Step
	}
	return ""
}

// PlaceOf is the place of a step among the steps. An unknown one comes before the end of a node.
func PlaceOf(step Step) int {
	all := Steps()
	at := slices.IndexFunc(all, func(e StepEntry) bool { return e.Step == step })
	if at < 0 {
		at = slices.IndexFunc(all, func(e StepEntry) bool { return e.Step == StepDraining })
	}
	return at
}

package nodestate

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/api"
)

// Word is the word for a state or a mark.
type Word string

// The states. A node has one.
const (
	Launching   Word = "launching"
	Launched    Word = "launched"
	Registered  Word = "registered"
	Ready       Word = "ready"
	NotReady    Word = "not ready"
	Rebooting   Word = "rebooting"
	Draining    Word = "draining"
	Drained     Word = "drained"
	Terminating Word = "terminating"
)

// The marks. A node may have several.
const (
	LaunchRefused     Word = "launch refused"
	LaunchUnknown     Word = "launch unknown"
	LacksResources    Word = "lacks resources"
	HeldUp            Word = "held up"
	Interrupted       Word = "interrupted"
	Departing         Word = "departing"
	Rebalance         Word = "rebalance recommended"
	Drifted           Word = "drifted"
	Expired           Word = "expired"
	Expiring          Word = "expiring"
	Unhealthy         Word = "unhealthy"
	RepairBlocked     Word = "repair blocked"
	Empty             Word = "empty"
	Proposed          Word = "proposed"
	ToGo              Word = "is to go"
	Replaced          Word = "replacement"
	Replaces          Word = "replaces"
	Restarting        Word = "restarting pods"
	ReplacementFailed Word = "replacement failed"
	Avoided           Word = "avoided"
	Kept              Word = "kept"
	Frozen            Word = "frozen"
	AwaitsRelease     Word = "awaits its release"
	ZoneShifted       Word = "zone shifted"
	Deadline          Word = "ends by"
)

// Tone is how much a word asks for a look.
type Tone string

// The tones: as it should be, wrong, leaving or to be looked at, and on its way.
const (
	Good Tone = "good"
	Bad  Tone = "bad"
	Warn Tone = "warn"
	Busy Tone = "busy"
)

// Entry describes a word.
type Entry struct {
	Word Word
	// State is true for a state, and false for a mark.
	State   bool
	Tone    Tone
	Meaning string // a sentence for people
	// From are the conditions and annotations of the claim or its node that the word comes from.
	From []string
}

// Words lists every word: the states in the order of a node's life, then the marks in the order in
// which they are said.
func Words() []Entry { return append(states(), marks()...) }

func states() []Entry {
	all := []Entry{
		{
			Word: Launching, Tone: Busy, Meaning: "The NodeClaim has no instance yet.",
			From: []string{api.AttemptAnnotationKey},
		},
		{
			Word: Launched, Tone: Busy, Meaning: "The instance boots, and has not joined the cluster.",
			From: []string{api.ConditionTypeLaunched},
		},
		{
			Word: Registered, Tone: Busy, Meaning: "The node has joined, and is not ready for pods yet.",
			From: []string{api.ConditionTypeRegistered},
		},
		{
			Word: Ready, Tone: Good, Meaning: "The node is initialized, and takes pods.",
			From: []string{api.ConditionTypeInitialized, api.ConditionReady},
		},
		{Word: NotReady, Tone: Bad, Meaning: "The node was ready. Its kubelet now says otherwise, or nothing."},
		{
			Word: Rebooting, Tone: Warn, Meaning: "An unhealthy node is rebooted to repair it.",
			From: []string{
				api.ConditionTypeRebooting, api.RebootPreBootIDAnnotationKey, api.RebootTerminationGracePeriodAnnotationKey,
				api.RebootsAnnotationKey,
			},
		},
		{Word: Draining, Tone: Warn, Meaning: "The node leaves, and its pods are evicted."},
		{
			Word: Drained, Tone: Warn, Meaning: "No pod is left that must move. Its volumes are being detached.",
			From: []string{api.ConditionTypeDrained, api.ConditionTypeVolumesDetached},
		},
		{
			Word: Terminating, Tone: Warn, Meaning: "The instance ends, or never was.",
			From: []string{api.ConditionTypeInstanceTerminating},
		},
	}
	for i := range all {
		all[i].State = true
	}
	return all
}

func marks() []Entry {
	return slices.Concat(marksOfTrouble(), marksOfReasons(), marksOfMoves())
}

func marksOfTrouble() []Entry {
	return []Entry{
		{
			Word: HeldUp, Tone: Bad,
			Meaning: "No pod has left a draining node for two minutes, because a budget or an annotation keeps one.",
		},
		{
			Word: LaunchRefused, Tone: Bad, Meaning: "EC2 refused the launch, and Whittle tries again.",
			From: []string{api.FailedAttemptsAnnotationKey},
		},
		{
			Word: LaunchUnknown, Tone: Warn, Meaning: "EC2 does not say whether it launched the instance.",
			From: []string{api.UnseenSinceAnnotationKey},
		},
		{
			Word: LacksResources, Tone: Bad, Meaning: "The node has fewer resources than its NodeClaim.",
			From: []string{api.ConditionTypeConsistentStateFound},
		},
	}
}

func marksOfReasons() []Entry {
	return []Entry{
		{
			Word: Interrupted, Tone: Bad, Meaning: "AWS takes the instance now, or has stopped it.",
			From: []string{api.InterruptedAnnotationKey},
		},
		{
			Word: Departing, Tone: Warn, Meaning: "AWS has announced when it takes the instance.",
			From: []string{api.DepartsAtAnnotationKey, api.DepartsBecauseAnnotationKey},
		},
		{
			Word: Rebalance, Tone: Warn, Meaning: "EC2 recommends to replace the spot instance.",
			From: []string{api.RebalanceRecommendedAnnotationKey},
		},
		{
			Word: Drifted, Tone: Warn, Meaning: "The node differs from its NodePool or EC2NodeClass.",
			From: []string{api.ConditionTypeDrifted},
		},
		{Word: Expired, Tone: Warn, Meaning: "The node is older than `expireAfter`."},
		{Word: Expiring, Tone: Warn, Meaning: "The node reaches `expireAfter` within the hour."},
		{Word: Unhealthy, Tone: Bad, Meaning: "A condition of the node has been wrong for too long, and a repair is due."},
		{
			Word: RepairBlocked, Tone: Bad,
			Meaning: "The unhealthy node stays, because an annotation keeps it or too many nodes of its pool are unhealthy.",
		},
		{
			Word: Empty, Tone: Warn, Meaning: "No pod is on the node that would keep it.",
			From: []string{api.EmptySinceAnnotationKey, api.ConditionTypeConsolidatable},
		},
	}
}

func marksOfMoves() []Entry {
	return []Entry{
		{
			Word: Proposed, Tone: Warn, Meaning: "A consolidation move would remove the node, and waits for its validation.",
			From: []string{api.ProposedAnnotationKey},
		},
		{
			Word: ToGo, Tone: Warn, Meaning: "Disrupt removes the node, for the reason given.",
			From: []string{api.ConditionTypeDisruptionReason},
		},
		{
			Word: Replaced, Tone: Warn, Meaning: "The node stays until its replacement is ready.",
			From: []string{api.ReplacedByAnnotationKey},
		},
		{
			Word: Replaces, Tone: Busy, Meaning: "The node was launched to replace another one.",
			From: []string{api.ReplacesAnnotationKey, api.ReplacesDriftAnnotationKey},
		},
		{
			Word: Restarting, Tone: Warn, Meaning: "Deployments are restarted to move their only pods off the node.",
			From: []string{api.RestartingSinceAnnotationKey},
		},
		{
			Word: ReplacementFailed, Tone: Warn, Meaning: "The last replacement failed. Whittle tries again later.",
			From: []string{api.ReplaceAfterAnnotationKey},
		},
		{
			Word: Avoided, Tone: Good,
			Meaning: "New pods go to other nodes if these have room, because consolidation would take this one next.",
		},
		{
			Word: Kept, Tone: Warn, Meaning: "An annotation of a person keeps the node.",
			From: []string{api.DoNotDisruptAnnotationKey, api.ScaleDownDisabledAnnotationKey, api.DoNotRepairAnnotationKey},
		},
		{
			Word: Frozen, Tone: Warn,
			Meaning: "Something would remove the node, and the budgets of its pool let no node go now, or a person froze it.",
		},
		{Word: AwaitsRelease, Tone: Warn, Meaning: "The node has drifted, and its release bakes or has stopped."},
		{Word: ZoneShifted, Tone: Warn, Meaning: "A zonal shift moves traffic away from its zone. Nothing ends there."},
		{
			Word: Deadline, Tone: Warn, Meaning: "The pods of the node are deleted at this time, despite any protection.",
			From: []string{api.NodeClaimTerminationTimestampAnnotationKey},
		},
	}
}

// silent lists the annotations and conditions of claims that say nothing of a node's state, with the
// reason.
func silent() map[string]string {
	const bookkeeping = "a hash or a tag that functions compare"
	return map[string]string{
		api.NodePoolHashAnnotationKey: bookkeeping, api.NodePoolHashVersionAnnotationKey: bookkeeping,
		api.AnnotationEC2NodeClassHash: bookkeeping, api.AnnotationEC2NodeClassHashVersion: bookkeeping,
		api.AnnotationInstanceTagged: bookkeeping, api.AnnotationClusterNameTagged: bookkeeping,
		api.AnnotationInstanceProfile:              bookkeeping,
		api.NodeClaimMinValuesRelaxedAnnotationKey: "how the claim was planned",
		api.PriceOverlayAppliedAnnotationKey:       "how the claim was planned",
		api.CapacityOverlayAppliedAnnotationKey:    "how the claim was planned",
		api.BatchAnnotationKey:                     "how the claim was launched",
		api.GangAnnotationKey:                      "how the claim was planned",
		api.NominatedPodsAnnotationKey:             "explain names these pods",
		api.CommitmentAnnotationKey:                "explain names the commitment",
		api.DepartureWithdrawnAnnotationKey:        "a departure that no longer holds",
	}
}

// order has the words in the order of the table.
var order = func() []Word {
	var words []Word
	for _, entry := range Words() {
		words = append(words, entry.Word)
	}
	return words
}()

// of returns the entry of a word.
func of(word Word) Entry {
	all := Words()
	if i := slices.IndexFunc(all, func(e Entry) bool { return e.Word == word }); i >= 0 {
		return all[i]
	}
	return Entry{Word: word, Tone: Bad, Meaning: "No table has this word."}
}

// ToneOf is the tone of a word.
func ToneOf(word Word) Tone { return of(word).Tone }

// rankOrder lists the states in the order in which they ask for a look.
var rankOrder = []Word{NotReady, Rebooting, Draining, Drained, Registered, Launched, Launching, Terminating, Ready}

// Rank is the place of a state in a list that begins with those that ask for a look.
func Rank(state Word) int { return slices.Index(rankOrder, state) }

// Joins reports whether a node of the state is on its way to become ready.
func Joins(state Word) bool { return state == Launching || state == Launched || state == Registered }

// Leaves reports whether a node of the state is on its way out.
func Leaves(state Word) bool { return state == Draining || state == Drained || state == Terminating }

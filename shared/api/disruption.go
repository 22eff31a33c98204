package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Disruption controls when the nodes of a pool may be removed for being empty, underutilized,
// drifted or unhealthy.
type Disruption struct {
	// The time without a pod added or removed after which a node may be consolidated, or Never.
	// The default 0h is 0s in another spelling, so that a 0s that somebody wrote can be told from it.
	// +kubebuilder:default:="0h"
	// +optional
	ConsolidateAfter NillableDuration `json:"consolidateAfter,omitzero"`
	// The nodes that consolidation considers.
	// +kubebuilder:default:=WhenEmptyOrUnderutilized
	// +optional
	ConsolidationPolicy ConsolidationPolicy `json:"consolidationPolicy,omitempty"`
	// The number of nodes that may be disrupted at once. The strictest active budget counts.
	// +kubebuilder:default:={{nodes: "10%"}}
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +kubebuilder:validation:XValidation:rule="self.all(budget, has(budget.schedule) == has(budget.duration))",message="schedule and duration of a budget must be set together: add the missing one or remove the other"
	// +kubebuilder:validation:XValidation:rule="self.all(budget, !has(budget.timeZone) || has(budget.schedule))",message="the timeZone of a budget is that of its schedule: add a schedule or remove timeZone"
	// +optional
	Budgets []Budget `json:"budgets,omitempty"`
}

// ChoosesConsolidateAfter reports whether somebody wrote consolidateAfter. Whittle's settle time is
// for pools where nobody did.
func (d *Disruption) ChoosesConsolidateAfter() bool {
	return !d.ConsolidateAfter.IsZero() && string(d.ConsolidateAfter.Raw) != DefaultConsolidateAfter
}

// ConsolidationPolicy selects the nodes that consolidation considers.
//
// +kubebuilder:validation:Enum=WhenEmpty;WhenEmptyOrUnderutilized;Balanced
type ConsolidationPolicy string

const (
	// ConsolidationPolicyWhenEmpty removes only nodes without pods.
	ConsolidationPolicyWhenEmpty ConsolidationPolicy = "WhenEmpty"
	// ConsolidationPolicyWhenEmptyOrUnderutilized also removes nodes whose pods fit elsewhere for
	// less.
	ConsolidationPolicyWhenEmptyOrUnderutilized ConsolidationPolicy = "WhenEmptyOrUnderutilized"
	// ConsolidationPolicyBalanced also weighs the disturbance of the pods against the savings.
	ConsolidationPolicyBalanced ConsolidationPolicy = "Balanced"
)

// DisruptionReason is the reason for which a node is removed.
//
// +kubebuilder:validation:Enum=Underutilized;Empty;Drifted;Unhealthy
type DisruptionReason string

const (
	DisruptionReasonUnderutilized DisruptionReason = "Underutilized"
	DisruptionReasonEmpty         DisruptionReason = "Empty"
	DisruptionReasonDrifted       DisruptionReason = "Drifted"
	DisruptionReasonUnhealthy     DisruptionReason = "Unhealthy"
)

// Reasons that AWS gives. No budget can name them.
const (
	DisruptionReasonRebalance       DisruptionReason = "Rebalance"
	DisruptionReasonScheduledChange DisruptionReason = "ScheduledChange"
)

// IsVoluntary reports whether Whittle disrupts a node for the reason by its own choice. Nodes that are
// unhealthy, or that AWS is going to take, leave whether or not somebody acts.
func (r DisruptionReason) IsVoluntary() bool {
	switch r {
	case "", DisruptionReasonUnhealthy, DisruptionReasonRebalance, DisruptionReasonScheduledChange:
		return false
	}
	return true
}

// Budget limits the number of nodes of a pool that may be disrupted at the same time.
type Budget struct {
	// The reasons that the budget applies to. An empty list means all reasons.
	// +kubebuilder:validation:MaxItems=50
	// +listType=set
	// +optional
	Reasons []DisruptionReason `json:"reasons,omitempty"`
	// The number of nodes that may be disrupted at once, or a percentage of the pool's nodes,
	// rounded up.
	// +kubebuilder:validation:Pattern=`^((100|[0-9]{1,2})%|[0-9]+)$`
	// +kubebuilder:default:="10%"
	// +required
	Nodes string `json:"nodes"`
	// The times at which the budget becomes active, in its time zone: five cron fields, or one of
	// @annually, @yearly, @monthly, @weekly, @daily, @midnight and @hourly. A budget without a schedule
	// is always active.
	// +kubebuilder:validation:Pattern=`^\s*(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|([^@\s]\S*\s+){4}\S+)\s*$`
	// +optional
	Schedule *string `json:"schedule,omitempty"`
	// The time for which the budget stays active after each hit of the schedule, in whole minutes.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+h([0-9]+m)?|[0-9]+m)(0s)?$`
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`
	// The time zone of the schedule: an IANA name such as Europe/Berlin. Without one, the annotation
	// whittle.dev/time-zone of the node pool counts, and otherwise UTC.
	// +optional
	TimeZone *string `json:"timeZone,omitempty"`
}

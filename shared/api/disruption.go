package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Disruption says when a pool's nodes may be taken away for being empty, idle or out
// of date.
type Disruption struct {
	// How long a node must have seen no pod come or go before it may be consolidated,
	// or Never.
	// +kubebuilder:default:="0s"
	// +optional
	ConsolidateAfter NillableDuration `json:"consolidateAfter,omitzero"`
	// Which nodes consolidation looks at.
	// +kubebuilder:default:=WhenEmptyOrUnderutilized
	// +optional
	ConsolidationPolicy ConsolidationPolicy `json:"consolidationPolicy,omitempty"`
	// How many nodes may be disrupted at once. The strictest active budget counts.
	// +kubebuilder:default:={{nodes: "10%"}}
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +kubebuilder:validation:XValidation:rule="self.all(budget, has(budget.schedule) == has(budget.duration))",message="schedule and duration of a budget must be set together: add the missing one or remove the other"
	// +optional
	Budgets []Budget `json:"budgets,omitempty"`
}

// ConsolidationPolicy selects the nodes that consolidation looks at.
//
// +kubebuilder:validation:Enum=WhenEmpty;WhenEmptyOrUnderutilized;Balanced
type ConsolidationPolicy string

const (
	// ConsolidationPolicyWhenEmpty takes nodes without pods only.
	ConsolidationPolicyWhenEmpty ConsolidationPolicy = "WhenEmpty"
	// ConsolidationPolicyWhenEmptyOrUnderutilized also takes nodes whose pods fit
	// elsewhere for less.
	ConsolidationPolicyWhenEmptyOrUnderutilized ConsolidationPolicy = "WhenEmptyOrUnderutilized"
	// ConsolidationPolicyBalanced also weighs what moving the pods costs against what
	// it saves.
	ConsolidationPolicyBalanced ConsolidationPolicy = "Balanced"
)

// DisruptionReason is why a node is taken away.
//
// +kubebuilder:validation:Enum=Underutilized;Empty;Drifted
type DisruptionReason string

const (
	DisruptionReasonUnderutilized DisruptionReason = "Underutilized"
	DisruptionReasonEmpty         DisruptionReason = "Empty"
	DisruptionReasonDrifted       DisruptionReason = "Drifted"
)

// Budget bounds how many nodes of a pool may be disrupted at the same time.
type Budget struct {
	// The reasons that the budget is for. None means all.
	// +kubebuilder:validation:MaxItems=50
	// +listType=set
	// +optional
	Reasons []DisruptionReason `json:"reasons,omitempty"`
	// How many nodes may be disrupted at once: a number, or a percentage of the
	// pool's nodes, rounded up.
	// +kubebuilder:validation:Pattern=`^((100|[0-9]{1,2})%|[0-9]+)$`
	// +kubebuilder:default:="10%"
	// +required
	Nodes string `json:"nodes"`
	// When the budget starts to be active: five cron fields or one of @annually,
	// @yearly, @monthly, @weekly, @daily, @midnight and @hourly, in UTC. Without a
	// schedule the budget is always active.
	// +kubebuilder:validation:Pattern=`^\s*(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|([^@\s]\S*\s+){4}\S+)\s*$`
	// +optional
	Schedule *string `json:"schedule,omitempty"`
	// How long the budget stays active after each hit of the schedule, in whole
	// minutes.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+h([0-9]+m)?|[0-9]+m)(0s)?$`
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`
}

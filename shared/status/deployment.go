package status

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/freeze"
)

const deploymentKey = "deployment.json"

// Deployment is what a deployment tells of itself, once a minute.
type Deployment struct {
	// Tick is the time of provision's last tick that was told. Others follow within a minute.
	Tick    time.Time `json:"tick"`
	Version string    `json:"version"`
	// PreferencePolicy and MinValuesPolicy are settings that plans depend on, by the values of
	// whittle plan's flags.
	PreferencePolicy string `json:"preferencePolicy"`
	MinValuesPolicy  string `json:"minValuesPolicy"`
	// DefaultTopologySpread are the constraints of pods that have none.
	DefaultTopologySpread []corev1.TopologySpreadConstraint `json:"defaultTopologySpread,omitempty"`
	// CapacityBuffers says that plans keep room for the pods of CapacityBuffers.
	CapacityBuffers bool `json:"capacityBuffers,omitempty"`
	// ProvisioningRequests says that plans find room for ProvisioningRequests.
	ProvisioningRequests bool `json:"provisioningRequests,omitempty"`
	// ManagedDeletionCosts says that Whittle writes the deletion costs of pods.
	ManagedDeletionCosts bool `json:"managedDeletionCosts,omitempty"`
	// Commitments says that Reserved Instances and Savings Plans count in prices.
	Commitments bool `json:"commitments,omitempty"`
	// MaxDollarsPerHour is the most that all nodes cost together; zero for no such limit.
	MaxDollarsPerHour float64 `json:"maxDollarsPerHour,omitempty"`
	// DispersalPercent is what keeping replicas of a workload apart may add to the price of new nodes. Nil
	// is the planner's default.
	DispersalPercent *float64 `json:"dispersalPercent,omitempty"`
	// Freezes are those that lasted at the tick. The next tick tells of what has changed since.
	Freezes []freeze.Freeze `json:"freezes,omitempty"`
	// Headroom is what they keep, as of the last plan; nil without a buffer.
	Headroom *Headroom `json:"headroom,omitempty"`
}

// Headroom is the room on nodes that CapacityBuffers keep.
type Headroom struct {
	Buffers int `json:"buffers"`
	// Pods are those that there should be room for, and Placed those of them that nodes have room
	// for.
	Pods   int `json:"pods"`
	Placed int `json:"placed"`
	// PricePerHour is the part of these nodes' prices in US dollars that the room takes.
	PricePerHour float64 `json:"pricePerHour"`
}

// PutDeployment stores what the deployment tells, and adds the longest time that a pod has waited
// since it last did to the day's samples. It returns a conflict with other writers after several
// tries.
func PutDeployment(ctx context.Context, store Store, deployment Deployment, pending time.Duration) error {
	return update(ctx, store, func(data map[string]string) error {
		if err := encode(data, deploymentKey, deployment); err != nil {
			return err
		}
		return addToDay(data, deployment.Tick, func(sample *Sample) {
			longest := pending.Seconds()
			if sample.PendingSeconds != nil {
				longest = max(longest, *sample.PendingSeconds)
			}
			sample.PendingSeconds = &longest
		})
	})
}

package sight

import (
	"github.com/whittle-dev/whittle/shared/limit"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/snapshot"
	"github.com/whittle-dev/whittle/shared/spread"
	"github.com/whittle-dev/whittle/shared/status"
)

// Settings are those of a deployment that plans depend on.
type Settings struct {
	PreferencePolicy plan.PreferencePolicy
	MinValuesPolicy  plan.MinValuesPolicy
	// DefaultTopologySpread are the constraints of pods that have none.
	DefaultTopologySpread spread.Defaults
	// CapacityBuffers and ProvisioningRequests say whose virtual pods get room.
	CapacityBuffers, ProvisioningRequests bool
	// ManagedDeletionCosts says that Whittle writes the deletion costs of pods.
	ManagedDeletionCosts bool
	// Commitments says that Reserved Instances and Savings Plans count in prices.
	Commitments bool
	// MaxDollarsPerHour is the most that the nodes of all NodePools cost together; zero for no such
	// limit.
	MaxDollarsPerHour float64
	// DispersalPercent is what keeping replicas of a workload apart may add to the price of new nodes. Nil
	// is the planner's default.
	DispersalPercent *float64
	// Market sells other instance types than the cluster's catalogue. It is nil for the catalogue.
	Market Market
	// AllDetails says that volumes and namespaces are read even where no waiting pod needs them, for
	// explanations of other pods.
	AllDetails bool
}

// Market is a person's own table of instance types and prices. A plan with one is a trial, which does
// not depend on the cluster's account.
type Market interface {
	// Offer returns what the market has for the objects' pools. Pools whose class is not ready are
	// among those that get nodes, and so are pools of other kinds of classes.
	Offer(*snapshot.Objects) (*snapshot.Offer, error)
}

// SettingsOf returns the settings that a deployment tells in the cluster, or the defaults where it tells
// nothing.
func SettingsOf(told *status.Deployment) Settings {
	if told == nil {
		return Settings{}
	}
	return Settings{
		PreferencePolicy:      plan.PreferencePolicy(told.PreferencePolicy),
		MinValuesPolicy:       plan.MinValuesPolicy(told.MinValuesPolicy),
		DefaultTopologySpread: told.DefaultTopologySpread,
		CapacityBuffers:       told.CapacityBuffers,
		ProvisioningRequests:  told.ProvisioningRequests,
		ManagedDeletionCosts:  told.ManagedDeletionCosts,
		Commitments:           told.Commitments,
		MaxDollarsPerHour:     told.MaxDollarsPerHour,
		DispersalPercent:      told.DispersalPercent,
	}
}

// Tell writes the settings into what a deployment tells.
func (s *Settings) Tell(told *status.Deployment) {
	told.PreferencePolicy, told.MinValuesPolicy = string(s.PreferencePolicy), string(s.MinValuesPolicy)
	told.DefaultTopologySpread = s.DefaultTopologySpread
	told.CapacityBuffers, told.ProvisioningRequests = s.CapacityBuffers, s.ProvisioningRequests
	told.ManagedDeletionCosts, told.Commitments = s.ManagedDeletionCosts, s.Commitments
	told.MaxDollarsPerHour, told.DispersalPercent = s.MaxDollarsPerHour, s.DispersalPercent
}

// apply sets the policies and the ceiling of the snapshot.
func (s *Settings) apply(made *plan.Snapshot) {
	made.PreferencePolicy, made.MinValuesPolicy = s.PreferencePolicy, s.MinValuesPolicy
	made.ManagedDeletionCosts, made.DispersalPercent = s.ManagedDeletionCosts, s.DispersalPercent
	if s.MaxDollarsPerHour > 0 {
		made.Limits = append(made.Limits, limit.OfCluster(s.MaxDollarsPerHour))
	}
}

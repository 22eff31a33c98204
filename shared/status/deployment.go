package status

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
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
}

// LastDeployment reads what the deployment last told. It returns nil where it has told nothing, or
// nothing that can be decoded. The error is the store's.
func LastDeployment(ctx context.Context, store Store) (*Deployment, error) {
	stored, err := store.ConfigMap(ctx, name)
	if err != nil || stored == nil {
		return nil, err
	}
	deployment := &Deployment{}
	if json.Unmarshal([]byte(stored.Data[deploymentKey]), deployment) != nil || deployment.Tick.IsZero() {
		return nil, nil
	}
	return deployment, nil
}

// PutDeployment stores what the deployment tells. It returns a conflict with other writers after
// several tries.
func PutDeployment(ctx context.Context, store Store, deployment Deployment) error {
	return put(ctx, store, deploymentKey, deployment)
}

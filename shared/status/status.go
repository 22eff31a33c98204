// Package status keeps what Whittle says of itself for people to see: the last
// plan that led to nodes, in the ConfigMap whittle-status of Whittle's namespace.
// Nothing is decided by it, and without it nothing is missing but the sight of it.
package status

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/cluster"
)

const (
	name    = "whittle-status"
	planKey = "plan.json"
	// maximumGroups is how many groups of nodes a plan is kept with: they tell what it
	// is about, and take about 5 kB.
	maximumGroups = 30
	// tries bounds how often a write that met another is repeated.
	tries = 5
)

// Plan is a plan as people are shown it.
type Plan struct {
	Time     time.Time `json:"time"`
	Pods     int       `json:"pods"`               // those that waited
	Existing int       `json:"existing,omitempty"` // of them, those for nodes that are there or on their way
	Unplaced int       `json:"unplaced,omitempty"` // of them, those without a place
	// Nodes are the new ones, those that look alike together, the dearest group first.
	Nodes []Nodes `json:"nodes"`
	// More is how many new nodes are in groups beyond those in Nodes.
	More int `json:"more,omitempty"`
	// PricePerHour is US dollars an hour of the new nodes, LowerBoundPerHour what none
	// for the same pods can cost less than.
	PricePerHour      float64 `json:"pricePerHour"`
	LowerBoundPerHour float64 `json:"lowerBoundPerHour"`
}

// Nodes are new nodes that are alike, each as it is expected to be bought.
type Nodes struct {
	NodePool     string  `json:"nodePool"`
	InstanceType string  `json:"instanceType"`
	CapacityType string  `json:"capacityType"`
	Zone         string  `json:"zone"`
	Count        int     `json:"count"`
	Pods         int     `json:"pods"`
	PricePerHour float64 `json:"pricePerHour"` // of all of them, in US dollars
}

// NewNodes counts the plan's new nodes.
func (p *Plan) NewNodes() int {
	count := p.More
	for _, group := range p.Nodes {
		count += group.Count
	}
	return count
}

// OfBound is the price as a multiple of its lower bound, 1 at the least but for rounding; zero
// where there is no bound.
func (p *Plan) OfBound() float64 {
	if p.LowerBoundPerHour <= 0 {
		return 0
	}
	return p.PricePerHour / p.LowerBoundPerHour
}

// Store keeps the ConfigMaps of Whittle's namespace: a cluster.Client.
type Store interface {
	ConfigMap(ctx context.Context, name string) (*corev1.ConfigMap, error)
	PutConfigMap(ctx context.Context, object *corev1.ConfigMap) error
}

// LastPlan reads the last plan; nil when there is none, or none that can be read: the
// next one replaces it.
func LastPlan(ctx context.Context, store Store) (*Plan, error) {
	stored, err := store.ConfigMap(ctx, name)
	if err != nil || stored == nil {
		return nil, err
	}
	plan := &Plan{}
	if json.Unmarshal([]byte(stored.Data[planKey]), plan) != nil || plan.Time.IsZero() {
		return nil, nil
	}
	return plan, nil
}

// PutPlan makes the plan the last one. What else the ConfigMap holds stays.
func PutPlan(ctx context.Context, store Store, plan Plan) error {
	if len(plan.Nodes) > maximumGroups {
		for _, group := range plan.Nodes[maximumGroups:] {
			plan.More += group.Count
		}
		plan.Nodes = plan.Nodes[:maximumGroups]
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return fmt.Errorf("encoding the plan for configmap %s: %w", name, err)
	}
	for range tries {
		var object *corev1.ConfigMap
		if object, err = store.ConfigMap(ctx, name); err != nil {
			return err
		}
		if object == nil {
			object = &corev1.ConfigMap{}
			object.Name = name
		}
		if object.Data == nil {
			object.Data = map[string]string{}
		}
		object.Data[planKey] = string(text)
		if err = store.PutConfigMap(ctx, object); !cluster.IsConflict(err) {
			return err
		}
	}
	return err
}

// Package status stores what Whittle shows people about itself in the ConfigMap whittle-status of
// Whittle's namespace: the last plan with new nodes, the last tick with the deployment's settings,
// and samples of the last day.
//
// Its place: provision and lifecycle write it; the console and the command line read it.
//
// Invariant: no decision depends on it, so an unreadable ConfigMap counts as an empty one.
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
	// maximumGroups is the number of groups of nodes that a stored plan keeps. They take about 5
	// kB.
	maximumGroups = 30
	// tries limits the repetitions of a conflicting write.
	tries = 5
)

// Plan is the summary of a plan for people.
type Plan struct {
	Time     time.Time `json:"time"`
	Pods     int       `json:"pods"`               // those that waited
	Existing int       `json:"existing,omitempty"` // of them, those for nodes that are there or on their way
	Unplaced int       `json:"unplaced,omitempty"` // of them, those without a place
	// Nodes are the new nodes, with equal nodes in one group, the most expensive group first.
	Nodes []Nodes `json:"nodes"`
	// More is the number of new nodes in groups beyond those in Nodes.
	More int `json:"more,omitempty"`
	// PricePerHour is the price of the new nodes in US dollars an hour. LowerBoundPerHour is a
	// lower bound of the price of any nodes for the same pods, with the risk of interruptions.
	PricePerHour      float64 `json:"pricePerHour"`
	LowerBoundPerHour float64 `json:"lowerBoundPerHour"`
	// ExtrasPerHour is the part of PricePerHour that the nodes cost beside their instances.
	ExtrasPerHour float64 `json:"extrasPerHour,omitempty"`
	// RiskPerHour is what interruptions cost beside PricePerHour. It is on no bill.
	RiskPerHour float64 `json:"riskPerHour,omitempty"`
}

// Nodes is a group of equal new nodes, each with its expected offering.
type Nodes struct {
	NodePool     string  `json:"nodePool"`
	InstanceType string  `json:"instanceType"`
	CapacityType string  `json:"capacityType"`
	Zone         string  `json:"zone"`
	Count        int     `json:"count"`
	Pods         int     `json:"pods"`
	PricePerHour float64 `json:"pricePerHour"` // of all of them, in US dollars
	// ExtrasPerHour is the part of PricePerHour that they cost beside their instances.
	ExtrasPerHour float64 `json:"extrasPerHour,omitempty"`
	// RiskPerHour is what interruptions cost beside PricePerHour.
	RiskPerHour float64 `json:"riskPerHour,omitempty"`
}

// NewNodes returns the number of new nodes.
func (p *Plan) NewNodes() int {
	count := p.More
	for _, group := range p.Nodes {
		count += group.Count
	}
	return count
}

// reachableGap is how far, in percent, a plan's price may be above its lower bound for the bound to
// tell something. The bound of a large plan splits pods and nodes, so that the cheapest plan may be
// far above it.
const reachableGap = 5.0

// optimalGap is the part of a price that rounding may cost. A price that exceeds its lower bound by
// less is optimal.
const optimalGap = 2e-6

// IsOptimal reports whether a price meets its lower bound, so that no nodes for the same pods cost
// less.
func IsOptimal(price, bound float64) bool {
	return bound > 0 && price <= bound*(1+optimalGap)
}

// Closeness says how close a price is to the cheapest plan's, for people. It is empty where the
// bound tells nothing.
func Closeness(price, bound float64) string {
	switch {
	case bound <= 0:
		return ""
	case IsOptimal(price, bound):
		return "optimal"
	}
	if gap := 100 * (price/bound - 1); gap <= reachableGap {
		// Not even a tenth of a percent is 0.0, which would be optimal.
		return fmt.Sprintf("at most %.1f %% above the cheapest plan", max(gap, 0.1))
	}
	return ""
}

// OfBound returns the price, with the risk, divided by its lower bound. It is at least 1, apart
// from rounding, and 0 without a bound.
func (p *Plan) OfBound() float64 {
	if p.LowerBoundPerHour <= 0 {
		return 0
	}
	return (p.PricePerHour + p.RiskPerHour) / p.LowerBoundPerHour
}

// Closeness is the function Closeness for the plan.
func (p *Plan) Closeness() string {
	return Closeness(p.PricePerHour+p.RiskPerHour, p.LowerBoundPerHour)
}

// Store reads and writes the ConfigMaps of Whittle's namespace; cluster.Client implements it.
//
// ConfigMap returns nil without an error where there is no such ConfigMap. PutConfigMap returns an
// error for which cluster.IsConflict is true when another writer was faster.
type Store interface {
	ConfigMap(ctx context.Context, name string) (*corev1.ConfigMap, error)
	PutConfigMap(ctx context.Context, object *corev1.ConfigMap) error
}

// Contents is all that is stored.
type Contents struct {
	Plan       *Plan       // the last with new nodes; nil before the first
	Deployment *Deployment // nil before the first tick
	Day        []Sample    // the oldest first
}

// Read reads all that is stored. It leaves out what cannot be decoded, because it is soon replaced.
// The error is the store's.
func Read(ctx context.Context, store Store) (Contents, error) {
	stored, err := store.ConfigMap(ctx, name)
	if err != nil || stored == nil {
		return Contents{}, err
	}
	contents := Contents{Day: dayOf(stored.Data)}
	var plan Plan
	if json.Unmarshal([]byte(stored.Data[planKey]), &plan) == nil && !plan.Time.IsZero() {
		contents.Plan = &plan
	}
	var deployment Deployment
	if json.Unmarshal([]byte(stored.Data[deploymentKey]), &deployment) == nil && !deployment.Tick.IsZero() {
		contents.Deployment = &deployment
	}
	return contents, nil
}

// PutPlan stores the plan as the last one. It returns a conflict with other writers after several
// tries.
func PutPlan(ctx context.Context, store Store, plan Plan) error {
	if len(plan.Nodes) > maximumGroups {
		for _, group := range plan.Nodes[maximumGroups:] {
			plan.More += group.Count
		}
		plan.Nodes = plan.Nodes[:maximumGroups]
	}
	return update(ctx, store, func(data map[string]string) error { return encode(data, planKey, plan) })
}

// encode sets the value of a key.
func encode(data map[string]string, key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	data[key] = string(text)
	return nil
}

// update changes the ConfigMap's data. It repeats a conflicting write on a fresh reading, and
// returns the conflict after several tries.
func update(ctx context.Context, store Store, change func(data map[string]string) error) error {
	var err error
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
		if err := change(object.Data); err != nil {
			return fmt.Errorf("encoding configmap %s: %w", name, err)
		}
		if err = store.PutConfigMap(ctx, object); !cluster.IsConflict(err) {
			return err
		}
	}
	return err
}

package main

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/observe"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// PlanWithout plans for the pods that lose their place when the claims' nodes leave: those
// of these nodes, and of all that are leaving already, which provision has planned for. It
// changes nothing.
func (e edge) PlanWithout(ctx context.Context, leaving []*api.NodeClaim, now time.Time) (*plan.Plan, error) {
	known, err := inventory.Catalog(ctx, e.Client)
	if err != nil {
		return nil, err
	}
	objects, err := observe.Objects(ctx, e.Client)
	if err != nil {
		return nil, err
	}
	observed, err := inventory.Observed(ctx, e.Client, objects.NodeClaims)
	if err != nil {
		return nil, err
	}
	gone := map[types.UID]bool{}
	for _, claim := range leaving {
		gone[claim.UID] = true
	}
	for i := range objects.NodeClaims {
		if claim := &objects.NodeClaims[i]; gone[claim.UID] && claim.DeletionTimestamp == nil {
			claim.DeletionTimestamp = &metav1.Time{Time: now}
		}
	}
	offered := map[string][]catalog.InstanceType{}
	for i := range objects.NodeClasses {
		class := &objects.NodeClasses[i]
		class.Default()
		if api.ConditionTrue(class.Status.Conditions, api.ConditionReady) {
			offered[class.Name] = catalog.Resolve(known, class, observed, now)
		}
	}
	var usable []api.NodePool
	for _, pool := range objects.NodePools {
		pool.Default()
		// Why a pool gets no nodes is provision's to tell.
		if pool.DeletionTimestamp == nil && pool.Validate() == nil && offered[pool.Spec.Template.Spec.NodeClassRef.Name] != nil {
			usable = append(usable, pool)
		}
	}
	objects.NodePools = usable
	made := snapshot.Assemble(objects, func(pool *api.NodePool) []catalog.InstanceType {
		return offered[pool.Spec.Template.Spec.NodeClassRef.Name]
	}, now)
	snapshot.AddUnlaunched(made, objects)
	made.PreferencePolicy, made.MinValuesPolicy = e.preference, e.minValues
	if err := observe.Details(ctx, e.Client, made); err != nil {
		return nil, err
	}
	return plan.Solve(made), nil
}

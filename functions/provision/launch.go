package provision

import (
	"context"
	"errors"

	"github.com/whittle-dev/whittle/functions/provision/attempt"
	"github.com/whittle-dev/whittle/functions/provision/intent"
	"github.com/whittle-dev/whittle/functions/provision/launching"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/plan"
)

// launcher launches for this pass.
func (r *pass) launcher() *launching.Launcher {
	return &launching.Launcher{
		Cluster: r.cluster, Client: r.client, Fleet: r.fleet, Now: r.now, Metrics: r.metrics, Addresses: &r.addresses,
		Tokens: &r.fresh, Record: r.record, Published: &r.published, Frozen: r.frozen,
	}
}

// frozen says which freeze holds launches of the pool, by a reading of the last second.
func (r *pass) frozen(ctx context.Context, pool string) (*freeze.Freeze, error) {
	frozen, err := r.freezes.Read(ctx)
	return frozen.Of(freeze.Launches, pool, r.now()), err
}

// create writes new claims. It returns the stored claims in the order of claims, with nil for one
// that could not be written.
func (r *pass) create(ctx context.Context, snapshot *plan.Snapshot, claims []api.NodeClaim) ([]*api.NodeClaim, error) {
	return r.launcher().Create(ctx, claims, intent.Context{
		Pools: r.poolsOf(snapshot),
		Types: func(claim *api.NodeClaim) []catalog.InstanceType {
			return typesFor(claim, snapshot, r.view.Offer.ClassTypes)
		},
		NewID: newBatchID,
	})
}

// launchAll makes an attempt for each group, and writes down what comes of it. It returns whether
// EC2 was short of capacity for one of them.
func (r *pass) launchAll(ctx context.Context, snapshot *plan.Snapshot, groups []launch.Group) (short bool, err error) {
	if len(groups) == 0 {
		return false, nil
	}
	result, err := r.launcher().Launch(ctx, launching.Facts{
		Classes: snapshot.NodeClasses, Owned: owned(snapshot), Joined: *r.joined, Unavailable: r.reader.unavailable,
		SourceOf: func(claim *api.NodeClaim) launching.Source {
			return launching.Source{
				Class: api.ClassOf(claim.Spec.NodeClassRef, snapshot.NodeClasses), Pool: poolOf(claim, snapshot.NodePools),
				Types: typesFor(claim, snapshot, r.view.Offer.ClassTypes),
			}
		},
	}, groups)
	for _, stored := range result.Launched {
		r.launched[stored.Name] = stored
		replaceClaim(snapshot, stored)
	}
	if len(result.Lacking.Until) > 0 {
		r.reader.unavailable.Merge(&result.Lacking)
		// The write may use the reserve: the next invocation must not ask for the same.
		err = errors.Join(err, inventory.MarkUnavailable(context.WithoutCancel(ctx), r.client, &result.Lacking, r.now()))
	}
	return result.Short, err
}

// giveUp deletes claims that are not launched, and says why.
func (r *pass) giveUp(ctx context.Context, step attempt.GiveUp) error {
	return r.launcher().GiveUp(ctx, step)
}

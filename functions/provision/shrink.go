package provision

import (
	"context"
	"errors"
	"log/slog"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/provision/intent"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/sight"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// shrink deletes the claims that pools have beyond spec.replicas. In the snapshot they are deleted
// from then on. Each pass counts what the API server has, so that a crash leaves nothing to undo.
// The round's pools come from the watch cache, which may lag. Shrink therefore reads everything
// again, past the cache, and decides on that.
func (r *pass) shrink(ctx context.Context, planned *plan.Snapshot) error {
	if !intent.HasSurplus(r.static, planned, r.now()) {
		return nil
	}
	objects, err := sight.Objects(ctx, sight.Cluster{Client: r.client.Consistent()})
	if err != nil {
		return err
	}
	seen, err := snapshot.Disruption(objects, r.client.CertificateAuthority())
	if err != nil {
		return err
	}
	r.static = intent.StaticPools(objects.NodePools)
	var failures []error
	for i := range r.static {
		for _, surplus := range intent.Surplus(&r.static[i], seen.Nodes, planned.ManagedDeletionCosts, r.now()) {
			failures = append(failures, r.deleteSurplus(ctx, planned, &r.static[i], surplus))
		}
	}
	return errors.Join(failures...)
}

// deleteSurplus deletes one claim. One that has changed stays until the next pass.
func (r *pass) deleteSurplus(
	ctx context.Context, planned *plan.Snapshot, pool *api.NodePool, surplus *api.NodeClaim,
) error {
	frozen, err := r.freezes.Read(ctx)
	if err != nil {
		return err
	}
	if held := frozen.Of(freeze.Disruptions, pool.Name, r.now()); held != nil {
		slog.InfoContext(ctx, "a freeze keeps a surplus replica", "NodeClaim", surplus.Name, "NodePool", pool.Name,
			"because", held.String())
		return nil
	}
	slog.InfoContext(ctx, "deleting nodeclaim to satisfy replica count",
		"NodeClaim", surplus.Name, "NodePool", pool.Name, "replicas", *pool.Spec.Replicas)
	err = r.client.DeleteUnchangedNodeClaim(ctx, surplus)
	if cluster.IsConflict(err) {
		return nil
	}
	if err != nil {
		return err
	}
	deleted := surplus.DeepCopy()
	deleted.DeletionTimestamp = &metav1.Time{Time: r.now()}
	replaceClaim(planned, deleted)
	return nil
}

package objects

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/whittle-dev/whittle/functions/console/releases"
	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/status"
)

// ErrNotInstalled says that the API server has no kind NodePool.
var ErrNotInstalled = errors.New(
	"the cluster has no kind NodePool: Whittle is not installed in it; deploy the stack for it (cdk deploy -c " +
		"clusters=NAME), or choose another context",
)

// Read makes all lists at the same time. Karpenter runs as one of the service accounts, if at all.
// Errors: ErrNotInstalled, or those of the API server.
func Read(
	ctx context.Context, client *cluster.Client, karpenter []cluster.ServiceAccount, now time.Time,
) (*view.Cluster, error) {
	objects := &view.Cluster{}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		objects.NodePools, err = inventory.PoolsWithOrder(ctx, client, client.NodePools)
		return Installed(err)
	})
	group.Go(func() (err error) {
		objects.NodeClasses, err = client.NodeClasses(ctx)
		if apierrors.IsForbidden(err) {
			return nil // rights of an older installation; the extras lack volumes and addresses
		}
		return Installed(err)
	})
	group.Go(func() (err error) {
		objects.NodeClaims, err = client.CachedNodeClaims(ctx)
		return Installed(err)
	})
	group.Go(func() (err error) { objects.Nodes, err = client.Nodes(ctx); return err })
	group.Go(func() (err error) { objects.Pods, err = client.Pods(ctx); return err })
	group.Go(func() (err error) {
		objects.Budgets, err = client.PodDisruptionBudgets(ctx)
		if apierrors.IsForbidden(err) {
			return nil // rights of an older installation; a drain then names annotations alone
		}
		return err
	})
	group.Go(func() (err error) {
		objects.Catalog, err = inventory.Catalog(ctx, client)
		if errors.Is(err, inventory.ErrNoCatalog) {
			return nil // the view says so
		}
		return err
	})
	group.Go(func() error {
		unavailable, err := inventory.Unavailable(ctx, client)
		if apierrors.IsForbidden(err) {
			return nil // rights of an older installation
		}
		if err == nil {
			objects.Shifted = unavailable.Shifted
		}
		return err
	})
	group.Go(func() (err error) { objects.Status, err = status.Read(ctx, client); return err })
	group.Go(func() (err error) { objects.Quotas, err = client.CapacityQuotas(ctx); return err })
	group.Go(func() (err error) {
		if objects.Commitments, err = inventory.Commitments(ctx, client); cluster.IsForbidden(err) {
			return nil // rights of an older installation
		}
		return err
	})
	group.Go(func() (err error) {
		if objects.Misfits, err = inventory.Misfits(ctx, client); cluster.IsForbidden(err) {
			return nil // rights of an older installation
		}
		return err
	})
	group.Go(func() (err error) {
		if objects.Karpenter, err = client.KarpenterLeadership(ctx, karpenter, now); apierrors.IsForbidden(err) {
			return nil // a person's rights may be older than this question
		}
		return err
	})
	var known releases.Known
	group.Go(func() (err error) { known, err = releases.Read(ctx, client); return err })
	said := make([][]corev1.Event, 2)
	for i, reason := range []string{"FailedScheduling", "Nominated"} {
		group.Go(func() (err error) { said[i], err = client.Events(ctx, "Pod", reason); return err })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	objects.Events = append(said[0], said[1]...)
	objects.Releases = known.Judge(releases.Objects{
		Pools: objects.NodePools, Classes: objects.NodeClasses, Claims: objects.NodeClaims, Nodes: objects.Nodes,
		Pods: objects.Pods,
	}, now)
	releases.Show(objects.NodePools, objects.Releases)
	return objects, nil
}

// Installed turns a missing collection into ErrNotInstalled.
func Installed(err error) error {
	if cluster.IsGone(err) {
		return ErrNotInstalled
	}
	return err
}

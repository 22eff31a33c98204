package main

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/whittle-dev/whittle/functions/provision/intent"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/guard"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/shared/observe"
	"github.com/whittle-dev/whittle/shared/snapshot"
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

// readReplicas reads the pools, and, where one of them keeps spec.replicas, all claims.
func readReplicas(
	ctx context.Context, client *cluster.Client,
) (pools []api.NodePool, claims []api.NodeClaim, err error) {
	if pools, err = client.NodePools(ctx); err != nil {
		return nil, nil, err
	}
	for i := range pools {
		if intent.KeepsReplicas(&pools[i]) {
			claims, err = client.CachedNodeClaims(ctx)
			return pools, claims, err
		}
	}
	return pools, nil, nil
}

// read reads the cluster, and before the first round what is known of EC2's offer and what nodes
// must know of the cluster. It reads all of it at once, because pods wait.
func (r *pass) read(ctx context.Context) (objects *snapshot.Objects, err error) {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { objects, err = observe.Objects(ctx, r.client); return err })
	if r.catalog == nil {
		group.Go(func() (err error) { r.catalog, err = inventory.Catalog(ctx, r.client); return err })
		group.Go(func() (err error) { r.joined, err = readJoined(ctx, r.client); return err })
	}
	if r.unavailable == nil {
		group.Go(func() (err error) { r.unavailable, err = inventory.Unavailable(ctx, r.client); return err })
		group.Go(func() (err error) { r.learned, err = inventory.Learned(ctx, r.client); return err })
		group.Go(func() (err error) { r.reservations, err = inventory.Reservations(ctx, r.client); return err })
		group.Go(func() (err error) { r.misfits, err = inventory.Misfits(ctx, r.client); return err })
	}
	var changed zonalshift.Change
	var shifted map[string]time.Time
	group.Go(func() error { shifted, changed = r.shifts.Refresh(ctx, r.client); return nil })
	if err = group.Wait(); err != nil {
		return nil, err
	}
	if r.shifts != nil {
		r.unavailable.Shifted = shifted
	}
	for _, event := range zonalshift.Events(changed, shifted, objects.NodePools, objects.NodeClasses) {
		r.record(event)
	}
	return objects, nil
}

// readJoined reads what every node must know of the cluster.
func readJoined(ctx context.Context, client *cluster.Client) (nodeclass.Cluster, error) {
	dns, err := client.ClusterDNS(ctx)
	if err != nil {
		return nodeclass.Cluster{}, err
	}
	endpoint := client.Endpoint
	return nodeclass.Cluster{
		Name: endpoint.Name, Endpoint: endpoint.URL, CertificateAuthority: endpoint.CertificateAuthority,
		ServiceCIDR: endpoint.ServiceCIDR, DNS: dns,
	}, nil
}

// resolve brings classes up to date that are new, changed or not ready. A class that cannot be
// resolved now stays as it was, and stops no other.
func (r *pass) resolve(ctx context.Context, objects *snapshot.Objects) error {
	var failures []error
	for i := range objects.NodeClasses {
		class := objects.NodeClasses[i]
		class.Default()
		if r.classes.Stale(&class) {
			err := guard.Run(func() (err error) {
				class, err = r.classes.Resolve(ctx, r.client, class, r.now())
				return err
			})
			failures = append(failures, err)
			if guard.IsPanic(err) {
				r.recordWarning(aboutClass(&class), api.EventReasonInternalError, err.Error())
			}
			if len(class.Status.CapacityReservations) > 0 {
				var counts map[string]catalog.ReservationCount
				if counts, err = inventory.Reservations(ctx, r.client); err == nil {
					r.reservations = counts
				}
				failures = append(failures, err)
			}
		}
		objects.NodeClasses[i] = class
	}
	return errors.Join(failures...)
}

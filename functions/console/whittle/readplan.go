package main

import (
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/whittle-dev/whittle/functions/console/instancetypes"
	"github.com/whittle-dev/whittle/functions/console/objects"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/buffer"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/observe"
	"github.com/whittle-dev/whittle/shared/snapshot"
	"github.com/whittle-dev/whittle/shared/status"
)

// readCluster reads provision's inputs: the objects, and without a table the catalogue's types. It
// reads volumes and namespaces too if running pods may move.
func (f *planFlags) readCluster(
	ctx context.Context, m *planned, client *cluster.Client, table *instancetypes.Table, now time.Time,
	problems io.Writer,
) error {
	own := table != nil
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		m.objects, err = observe.Objects(reading, client)
		return objects.Installed(err)
	})
	var told *status.Deployment
	group.Go(func() error {
		shown, err := status.Read(reading, client)
		told = shown.Deployment
		if apierrors.IsForbidden(err) {
			return nil // a person's rights may not include it
		}
		return err
	})
	var facts *catalog.Snapshot
	var observed catalog.Observed
	var counts map[string]catalog.ReservationCount
	if table == nil {
		group.Go(func() (err error) { facts, err = inventory.Catalog(reading, client); return err })
		group.Go(func() (err error) { observed.Unavailable, err = inventory.Unavailable(reading, client); return err })
		group.Go(func() (err error) { observed.Learned, err = inventory.Learned(reading, client); return err })
		group.Go(func() (err error) { observed.Kubelet, err = inventory.KubeletValues(reading, client); return err })
		group.Go(func() (err error) { counts, err = inventory.Reservations(reading, client); return err })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	f.follow(told, problems)
	buffers, err := readBuffers(ctx, client, told, m.objects)
	if err != nil {
		return err
	}
	if err := observe.Spread(ctx, client, f.spread, m.objects.Pods); err != nil {
		return err
	}
	if table == nil {
		observed.Reservations = catalog.Available(counts, m.objects.NodeClaims)
		table = instancetypes.OfCatalog(facts, observed, now)
	}
	for i := range m.objects.NodeClasses {
		m.objects.NodeClasses[i].Default()
	}
	usable, others := snapshot.Pools(m.objects)
	for i := range others {
		// With a table of the user's the plan is a trial, which does not depend on AWS.
		classless := others[i].Reason == api.ReasonNodeClassNotReady || others[i].Reason == api.ReasonNodeClassNotFound
		if own && classless {
			usable = append(usable, others[i].Pool)
			continue
		}
		m.unusable = append(m.unusable, others[i].Plan())
	}
	m.pools, m.objects.NodePools = m.objects.NodePools, usable
	m.assemble(table, now)
	snapshot.AddUnlaunched(m.snapshot, m.objects)
	m.snapshot.Pods = append(m.snapshot.Pods, buffer.Pods(buffers)...)
	waiting := m.snapshot.Pods
	if f.details {
		for i := range m.snapshot.Nodes {
			m.snapshot.Pods = append(m.snapshot.Pods, m.snapshot.Nodes[i].Pods...)
		}
	}
	err = observe.Details(ctx, client, m.snapshot)
	m.snapshot.Pods = waiting
	return errors.Join(err, observe.Gangs(ctx, client, m.snapshot))
}

// readBuffers reads the CapacityBuffers where the deployment keeps room for them.
func readBuffers(
	ctx context.Context, client *cluster.Client, told *status.Deployment, o *snapshot.Objects,
) ([]buffer.Buffer, error) {
	if told == nil || !told.CapacityBuffers {
		return nil, nil
	}
	return observe.Buffers(ctx, client, o.LimitRanges)
}

package sight

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// Objects reads the objects that every plan needs, all at once. It leaves out the NodePools and
// NodeClaims of other controllers' node classes. Their nodes are like nodes without a claim: pods may
// run on them, and Whittle never ends them. An error is that of one of the lists, and may be tried
// again.
func Objects(ctx context.Context, reader ObjectReader) (*snapshot.Objects, error) {
	o, err := everything(ctx, reader)
	if err == nil {
		leaveOthers(o)
	}
	return o, err
}

// everything reads the objects of all controllers.
func everything(ctx context.Context, reader ObjectReader) (*snapshot.Objects, error) {
	o := &snapshot.Objects{}
	group, ctx := errgroup.WithContext(ctx)
	read(ctx, group, &o.Pods, reader.Pods)
	read(ctx, group, &o.Nodes, reader.Nodes)
	read(ctx, group, &o.NodeClaims, reader.NodeClaims)
	read(ctx, group, &o.NodePools, reader.NodePools)
	read(ctx, group, &o.NodeClasses, reader.NodeClasses)
	read(ctx, group, &o.DaemonSets, reader.DaemonSets)
	read(ctx, group, &o.LimitRanges, reader.LimitRanges)
	read(ctx, group, &o.PodDisruptionBudgets, reader.PodDisruptionBudgets)
	read(ctx, group, &o.NodeOverlays, reader.NodeOverlays)
	read(ctx, group, &o.CapacityQuotas, reader.CapacityQuotas)
	if err := group.Wait(); err != nil {
		return nil, err
	}
	o.ForgetOwnNominations()
	o.BoundNodes()
	return o, nil
}

// leaveOthers leaves out what belongs to other controllers.
func leaveOthers(o *snapshot.Objects) {
	o.NodeClaims = slices.DeleteFunc(
		o.NodeClaims, func(claim api.NodeClaim) bool { return !claim.Spec.NodeClassRef.IsEC2NodeClass() })
	o.NodePools = slices.DeleteFunc(o.NodePools, func(pool api.NodePool) bool {
		ref := pool.Spec.Template.Spec.NodeClassRef
		return ref != nil && !ref.IsEC2NodeClass()
	})
}

// details reads the needed details into the snapshot, and marks all others as unread. An error is that
// of one of the lists, and may be tried again. What could not be read is marked too.
func details(ctx context.Context, reader ObjectReader, s *plan.Snapshot, needs plan.Details) error {
	s.Unread = plan.Details{}.Not()
	var unread, unnamed error
	group := &errgroup.Group{}
	if needs.Volumes {
		group.Go(func() error { unread = volumes(ctx, reader, s); return nil })
	}
	if needs.Namespaces {
		group.Go(func() error { s.Namespaces, unnamed = reader.Namespaces(ctx); return nil })
	}
	_ = group.Wait() // each has its own error
	s.Unread.Volumes = !needs.Volumes || unread != nil
	s.Unread.Namespaces = !needs.Namespaces || unnamed != nil
	if unread != nil {
		return unread
	}
	return unnamed
}

// volumes reads the objects of volumes.
func volumes(ctx context.Context, reader ObjectReader, s *plan.Snapshot) error {
	group, ctx := errgroup.WithContext(ctx)
	read(ctx, group, &s.PersistentVolumeClaims, reader.PersistentVolumeClaims)
	read(ctx, group, &s.PersistentVolumes, reader.PersistentVolumes)
	read(ctx, group, &s.StorageClasses, reader.StorageClasses)
	read(ctx, group, &s.CSINodes, reader.CSINodes)
	return group.Wait()
}

// read starts a list in the group.
func read[T any](ctx context.Context, group *errgroup.Group, into *[]T, list func(context.Context) ([]T, error)) {
	group.Go(func() (err error) {
		*into, err = list(ctx)
		return err
	})
}

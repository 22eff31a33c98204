package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/inventory"
)

// errNotInstalled tells that the API server knows no NodePools.
var errNotInstalled = errors.New("the cluster has no kind NodePool: Whittle is not installed in it; deploy the stack for it (cdk deploy -c clusters=NAME), or choose another context")

// read reads everything that is shown, all lists at once.
func read(ctx context.Context, client *cluster.Client, now time.Time) (*view.Objects, error) {
	objects := &view.Objects{}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		objects.NodePools, err = client.NodePools(ctx)
		return installed(err)
	})
	group.Go(func() (err error) {
		objects.NodeClaims, err = client.CachedNodeClaims(ctx)
		return installed(err)
	})
	group.Go(func() (err error) { objects.Nodes, err = client.Nodes(ctx); return err })
	group.Go(func() (err error) { objects.Pods, err = client.Pods(ctx); return err })
	group.Go(func() (err error) {
		objects.Catalog, err = inventory.Catalog(ctx, client)
		if errors.Is(err, inventory.ErrNoCatalog) {
			return nil // the view says so
		}
		return err
	})
	group.Go(func() (err error) {
		if objects.Karpenter, err = client.KarpenterLeader(ctx, now); apierrors.IsForbidden(err) {
			return nil // a person's rights may be older than this question
		}
		return err
	})
	said := make([][]corev1.Event, 2)
	for i, reason := range []string{"FailedScheduling", "Nominated"} {
		group.Go(func() (err error) { said[i], err = client.Events(ctx, "Pod", reason); return err })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	objects.Events = append(said[0], said[1]...)
	return objects, nil
}

// installed reads a missing collection as a missing definition.
func installed(err error) error {
	if cluster.IsGone(err) {
		return errNotInstalled
	}
	return err
}

// mend adds to an error of the API server what the person can do about it.
func mend(err error, endpoint cluster.Endpoint) error {
	var unreachable *url.Error
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w: the cluster does not know the credentials of context %q: sign in again, or choose another context", err, endpoint.Name)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: ask the cluster's administrator for the right to get and list it", err)
	case errors.As(err, &unreachable) && !errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: is the cluster of context %q at %s running, and reachable from here?", err, endpoint.Name, endpoint.URL)
	}
	return err
}

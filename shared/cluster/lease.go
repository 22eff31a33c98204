package cluster

import (
	"context"
	"fmt"
	"net/http"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const leasesPath = "/apis/coordination.k8s.io/v1/namespaces/" + Namespace + "/leases"

// Lease is the right of one invocation to launch capacity in a cluster.
type Lease struct {
	client *Client
	held   coordinationv1.Lease
}

// AcquireLease takes the lease for the holder until the deadline, or returns nil
// when another holder has it. The resourceVersion decides between two that try
// at once: the API server lets one of them through.
func (c *Client) AcquireLease(ctx context.Context, name, holder string, now, deadline time.Time) (*Lease, error) {
	path := leasesPath + "/" + name
	seconds := int32(deadline.Sub(now).Seconds()) + 1
	moment := metav1.NewMicroTime(now)
	wanted := coordinationv1.LeaseSpec{
		HolderIdentity: &holder, AcquireTime: &moment, RenewTime: &moment, LeaseDurationSeconds: &seconds,
	}
	current, err := c.lease(ctx, name)
	if err != nil {
		return nil, err
	}
	verb := http.MethodPut
	switch {
	case current == nil:
		verb, path = http.MethodPost, leasesPath
		current = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: Namespace}}
	case taken(&current.Spec, holder, now):
		return nil, nil
	}
	current.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	current.Spec = wanted
	lease := &Lease{client: c}
	err = c.writeJSON(ctx, verb, path, current, &lease.held)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// LeaseHeld tells whether somebody has the lease.
func (c *Client) LeaseHeld(ctx context.Context, name string, now time.Time) (bool, error) {
	current, err := c.lease(ctx, name)
	return err == nil && current != nil && taken(&current.Spec, "", now), err
}

// lease is the lease of that name in Whittle's namespace, or nil when there is none.
func (c *Client) lease(ctx context.Context, name string) (*coordinationv1.Lease, error) {
	var stored coordinationv1.Lease
	err := c.rest.Get().AbsPath(leasesPath + "/" + name).Do(ctx).Into(&stored)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading lease %s/%s: %w", Namespace, name, err)
	}
	return &stored, nil
}

// Release gives the lease back so that the next invocation need not wait for
// its deadline. One that was taken over meanwhile is left alone.
func (l *Lease) Release(ctx context.Context) error {
	released := l.held
	released.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	none, second := "", int32(1)
	released.Spec.HolderIdentity, released.Spec.LeaseDurationSeconds = &none, &second
	err := l.client.writeJSON(ctx, http.MethodPut, leasesPath+"/"+released.Name, &released, nil)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// taken tells whether somebody else holds the lease and its time is not over.
func taken(spec *coordinationv1.LeaseSpec, holder string, now time.Time) bool {
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || *spec.HolderIdentity == holder {
		return false
	}
	if spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return false
	}
	return now.Before(spec.RenewTime.Add(time.Duration(*spec.LeaseDurationSeconds) * time.Second))
}

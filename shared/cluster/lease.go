package cluster

import (
	"context"
	"fmt"
	"net/http"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

const leasesPath = "/apis/coordination.k8s.io/v1/namespaces/" + Namespace + "/leases"

// askedAtAnnotationKey says, on a lease, when its holder was last asked to look once more.
const askedAtAnnotationKey = api.OwnGroup + "/asked-at"

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

// releases bounds how often a lease is given back to which others write in the meantime.
const releases = 5

// Release gives the lease back so that the next invocation need not wait for
// its deadline. One that was taken over meanwhile is left alone.
func (l *Lease) Release(ctx context.Context) error {
	for range releases {
		if asked, err := l.ReleaseUnlessAsked(ctx); !asked {
			return err
		}
	}
	return fmt.Errorf("lease %s/%s was written %d times while it was to be given back", Namespace, l.held.Name, releases)
}

// ReleaseUnlessAsked gives the lease back like Release, unless somebody has asked the holder to look
// once more (AskHolder) since it took the lease or was last told: then it keeps the lease.
func (l *Lease) ReleaseUnlessAsked(ctx context.Context) (asked bool, err error) {
	released := l.held
	released.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	none, second := "", int32(1)
	released.Spec.HolderIdentity, released.Spec.LeaseDurationSeconds = &none, &second
	err = l.client.writeJSON(ctx, http.MethodPut, leasesPath+"/"+released.Name, &released, nil)
	if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return false, err
	}
	current, err := l.client.lease(ctx, released.Name)
	if err != nil || current == nil || current.Spec.HolderIdentity == nil || *current.Spec.HolderIdentity != *l.held.Spec.HolderIdentity {
		return false, err
	}
	l.held = *current
	return true, nil
}

// AskHolder asks whoever has the lease to look once more before giving it back: what it has read
// may be older than what the caller knows. Nothing promises that it will: it may be
// gone already, or short of time.
func (c *Client) AskHolder(ctx context.Context, name string, now time.Time) error {
	current, err := c.lease(ctx, name)
	if err != nil || current == nil || !taken(&current.Spec, "", now) {
		return err
	}
	current.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	metav1.SetMetaDataAnnotation(&current.ObjectMeta, askedAtAnnotationKey, now.UTC().Format(time.RFC3339Nano))
	// The new resourceVersion is what the holder sees. With a conflict it has seen another's, or has let go.
	if err := c.writeJSON(ctx, http.MethodPut, leasesPath+"/"+name, current, nil); !apierrors.IsConflict(err) {
		return err
	}
	return nil
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

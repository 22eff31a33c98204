package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

const leasesPath = "/apis/coordination.k8s.io/v1/namespaces/" + Namespace + "/leases"

// askedAtAnnotationKey is, on a Lease, the time at which its holder was last asked for another
// pass.
const askedAtAnnotationKey = api.OwnGroup + "/asked-at"

// Lease is the right of one invocation to do what no other may do beside it.
type Lease struct {
	client *Client
	held   coordinationv1.Lease
	fence  *fence
}

// AcquireLease takes the Lease for the holder until the deadline. It returns nil, and no error,
// when another holder has it. Of two holders that try at once, the resourceVersion lets one
// succeed. A write whose answer was lost may have taken the Lease. It is sent again, and the stored
// Lease decides.
func (c *Client) AcquireLease(ctx context.Context, name, holder string, now, deadline time.Time) (*Lease, error) {
	return c.SucceedLease(ctx, name, holder, holder, now, deadline)
}

// SucceedLease takes the Lease like AcquireLease, also from the predecessor, who has asked for that.
func (c *Client) SucceedLease(
	ctx context.Context, name, holder, predecessor string, now, deadline time.Time,
) (*Lease, error) {
	path, fence := leasesPath+"/"+name, c.newFence(name, deadline.Sub(now))
	seconds := int32(deadline.Sub(now).Seconds()) + 1
	moment := metav1.NewMicroTime(now)
	wanted := coordinationv1.LeaseSpec{
		HolderIdentity: &holder, AcquireTime: &moment, RenewTime: &moment, LeaseDurationSeconds: &seconds,
	}
	lease := &Lease{client: c, fence: fence}
	if err := c.takeReleased(ctx, name, wanted, &lease.held); !isChanged(err) {
		return given(lease, err)
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
	case isSame(&current.Spec, &wanted):
		lease.held = *current
		return lease, nil
	case taken(&current.Spec, predecessor, now):
		c.leases.met.keep(*current)
		return nil, nil
	}
	current.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	current.Spec = wanted
	err = c.writeLease(ctx, verb, path, current, &lease.held)
	if !IsConflict(err) {
		return given(lease, err)
	}
	stored, err := c.lease(ctx, name)
	if err != nil || stored == nil || !isSame(&stored.Spec, &wanted) {
		return nil, err
	}
	lease.held = *stored
	return lease, nil
}

// errNoneReleased means that the client knows of no Lease that is free.
var errNoneReleased = errors.New("no lease was released by this client")

// isChanged reports whether a Lease has to be read before it is taken.
func isChanged(err error) bool {
	return errors.Is(err, errNoneReleased) || IsConflict(err) || apierrors.IsNotFound(err)
}

// takeReleased takes the Lease without reading it, if this client has released it last and nobody has
// written it since. The resourceVersion proves that.
func (c *Client) takeReleased(
	ctx context.Context, name string, wanted coordinationv1.LeaseSpec, into *coordinationv1.Lease,
) error {
	free := c.leases.released.take(name)
	if free == nil {
		return errNoneReleased
	}
	free.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	free.Spec = wanted
	return c.writeLease(ctx, http.MethodPut, leasesPath+"/"+name, free, into)
}

// knownLeases are Leases as a client and its copies have seen them last. Another invocation may have
// written them since, which the resourceVersion shows.
type knownLeases struct {
	released storedLeases // that nobody had then
	met      storedLeases // that another holder had then
}

// storedLeases are Leases by name. It is a cache, and safe for concurrent use.
type storedLeases struct {
	mutex  sync.Mutex
	leases map[string]coordinationv1.Lease
}

// take returns the Lease, and forgets it. It returns nil for none.
func (r *storedLeases) take(name string) *coordinationv1.Lease {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	lease, known := r.leases[name]
	if !known {
		return nil
	}
	delete(r.leases, name)
	return &lease
}

func (r *storedLeases) keep(lease coordinationv1.Lease) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.leases == nil {
		r.leases = map[string]coordinationv1.Lease{}
	}
	r.leases[lease.Name] = lease
}

// given returns the Lease, or nil with an error.
func given(lease *Lease, err error) (*Lease, error) {
	if err != nil {
		return nil, err
	}
	return lease, nil
}

// isSame reports whether a stored Lease is the one that was to be written. The API server keeps
// microseconds.
func isSame(stored, wanted *coordinationv1.LeaseSpec) bool {
	return stored.HolderIdentity != nil && *stored.HolderIdentity == *wanted.HolderIdentity &&
		stored.RenewTime != nil && stored.RenewTime.Time.Equal(wanted.RenewTime.Truncate(time.Microsecond))
}

// sends bounds how often the write of a Lease is sent whose answer is lost.
const sends = 3

// writeLease writes a Lease. It repeats a write that may have succeeded or not. The resourceVersion
// lets at most one of them succeed, so that a conflict may come from the first.
func (c *Client) writeLease(
	ctx context.Context, verb, path string, lease, into *coordinationv1.Lease,
) (err error) {
	for range sends {
		err = c.writeJSON(ctx, verb, path, lease, into)
		if !isUncertain(err) || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// isUncertain reports whether a write may have succeeded although there is an error: the connection
// broke, or the API server does not know what its store did.
func isUncertain(err error) bool {
	if err == nil || errors.Is(err, ErrLeaseEnded) {
		return false
	}
	var answered apierrors.APIStatus
	return !errors.As(err, &answered) || answered.Status().Code >= http.StatusInternalServerError
}

// LeaseHeld reports whether an invocation has the Lease.
func (c *Client) LeaseHeld(ctx context.Context, name string, now time.Time) (bool, error) {
	current, err := c.lease(ctx, name)
	return err == nil && current != nil && taken(&current.Spec, "", now), err
}

// lease reads the Lease of that name in Whittle's namespace. It returns nil when there is none.
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

// Renew keeps the Lease until another deadline. It returns false once another holder has it. With an
// error the Lease lasts until its earlier deadline at least.
func (l *Lease) Renew(ctx context.Context, now, deadline time.Time) (held bool, err error) {
	for range releases {
		renewed := l.held
		renewed.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
		seconds, moment := int32(deadline.Sub(now).Seconds())+1, metav1.NewMicroTime(now)
		renewed.Spec.RenewTime, renewed.Spec.LeaseDurationSeconds = &moment, &seconds
		var stored coordinationv1.Lease
		err = l.client.writeLease(ctx, http.MethodPut, leasesPath+"/"+renewed.Name, &renewed, &stored)
		if err == nil {
			l.held, l.fence = stored, l.client.newFence(renewed.Name, deadline.Sub(now))
			return true, nil
		}
		if !apierrors.IsConflict(err) {
			return !apierrors.IsNotFound(err), err
		}
		current, unread := l.client.lease(ctx, renewed.Name)
		if unread != nil {
			return true, unread
		}
		if current == nil || !isHolder(current, *l.held.Spec.HolderIdentity) {
			return false, nil
		}
		l.held = *current // somebody annotated it, or an earlier renewal lost its answer
	}
	return true, err
}

// releases bounds the attempts to write a Lease that others write in the meantime.
const releases = 5

// Release releases the Lease, so that the next invocation need not wait for its deadline. It
// succeeds for a Lease that another holder has taken over.
func (l *Lease) Release(ctx context.Context) error {
	for range releases {
		if asked, err := l.ReleaseUnlessAsked(ctx); !asked {
			return err
		}
	}
	return fmt.Errorf("lease %s/%s was written %d times while it was to be released", Namespace, l.held.Name, releases)
}

// ReleaseUnlessAsked releases the Lease like Release. It keeps the Lease and returns true if
// AskHolder was called since the last call, or since the Lease was taken.
func (l *Lease) ReleaseUnlessAsked(ctx context.Context) (asked bool, err error) {
	released := l.held
	released.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	none, second := "", int32(1)
	released.Spec.HolderIdentity, released.Spec.LeaseDurationSeconds = &none, &second
	var stored coordinationv1.Lease
	err = l.client.writeLease(ctx, http.MethodPut, leasesPath+"/"+released.Name, &released, &stored)
	if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		l.fence.released.Store(true)
		if err == nil && !l.client.dryRun {
			l.client.leases.released.keep(stored)
		}
		return false, err
	}
	current, err := l.client.lease(ctx, released.Name)
	if err != nil || current == nil {
		return false, err
	}
	if !isHolder(current, *l.held.Spec.HolderIdentity) {
		l.fence.released.Store(true)
		return false, nil
	}
	l.held = *current
	return true, nil
}

func isHolder(lease *coordinationv1.Lease, holder string) bool {
	return lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity == holder
}

// AskHolder asks the holder of the Lease for another pass before it releases the Lease. The holder
// may have read the cluster before the change that the caller knows of. The holder may have ended
// meanwhile, or lack the time. AskHolder does nothing, and returns no error, when nobody has the
// Lease. It takes the Lease as AcquireLease has met it a moment ago.
func (c *Client) AskHolder(ctx context.Context, name string, now time.Time) (err error) {
	current := c.leases.met.take(name)
	if current == nil {
		current, err = c.lease(ctx, name)
	}
	if err != nil || current == nil || !taken(&current.Spec, "", now) {
		return err
	}
	current.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	metav1.SetMetaDataAnnotation(&current.ObjectMeta, askedAtAnnotationKey, now.UTC().Format(time.RFC3339Nano))
	// The holder sees the new resourceVersion. A conflict means that it sees another one, which was
	// written after the change that the caller knows of, or has released the Lease.
	if err := c.writeJSON(ctx, http.MethodPut, leasesPath+"/"+name, current, nil); !apierrors.IsConflict(err) {
		return err
	}
	return nil
}

// taken reports whether another holder has the Lease and its time is not over. The holder's clock may
// be behind, so that the time counts for clockLeeway longer.
func taken(spec *coordinationv1.LeaseSpec, holder string, now time.Time) bool {
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" || *spec.HolderIdentity == holder {
		return false
	}
	if spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return false
	}
	return now.Before(spec.RenewTime.Add(time.Duration(*spec.LeaseDurationSeconds)*time.Second + clockLeeway))
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// ErrLeaseEnded is the error of a write that came after the end of its Lease. The next holder
// decides on what it reads itself.
var ErrLeaseEnded = errors.New("the lease has ended, and this pass writes nothing more")

// fence ends the writes of a Lease's holder.
type fence struct {
	name string
	now  func() time.Time
	// ends has no monotonic part: a container that was frozen wakes up with the time of the wall.
	ends     time.Time
	released atomic.Bool
}

// newFence returns a fence that ends when the time has passed by the client's clock.
func (c *Client) newFence(name string, lasts time.Duration) *fence {
	return &fence{name: name, now: c.now, ends: c.now().Round(0).Add(lasts)}
}

func (f *fence) err() error {
	if f.released.Load() || f.left() <= 0 {
		return fmt.Errorf("lease %s/%s: %w", Namespace, f.name, ErrLeaseEnded)
	}
	return nil
}

// left is the time until the end.
func (f *fence) left() time.Duration { return f.ends.Sub(f.now().Round(0)) }

type fenceKey struct{}

// Fence returns a context for the work under the Lease. Writes to the cluster with this context, or
// with one made from it, end with the Lease. After that they fail with ErrLeaseEnded and send
// nothing. A context that outlives its parent (context.WithoutCancel) keeps the fence.
func (l *Lease) Fence(ctx context.Context) context.Context {
	return context.WithValue(ctx, fenceKey{}, l.fence)
}

// LeaseEnded returns ErrLeaseEnded once the Lease of the context has ended. Work that changes
// anything else than the cluster asks before it begins. A context without a Lease never ends.
func LeaseEnded(ctx context.Context) error {
	if f, fenced := ctx.Value(fenceKey{}).(*fence); fenced {
		return f.err()
	}
	return nil
}

// fenced returns a context for one write, which ends with the Lease of the context, if there is one.
func fenced(ctx context.Context) (context.Context, context.CancelFunc, error) {
	f, fenced := ctx.Value(fenceKey{}).(*fence)
	if !fenced {
		return ctx, func() {}, nil
	}
	if err := f.err(); err != nil {
		return nil, nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, f.left())
	return bounded, cancel, nil
}

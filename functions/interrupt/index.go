package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/whittle-dev/whittle/events"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// listedFor is how long an instance that was in no claim when they were listed is taken for
// somebody else's without another list: a claim gets its instance within a second or two of
// the launch, and no instance is taken back that soon. One that ends by itself then is found
// by lifecycle's next tick.
const listedFor = 2 * time.Second

// index remembers which instance is which claim's, which never changes, so that a storm of
// events over a large cluster costs one list in a while and not one a batch. A cold
// container lists.
type index struct {
	mutex sync.Mutex
	at    time.Time
	names map[string][]string // of claims, by instance
}

// find names the claims of the instances; it fails to when one of them may be a claim's
// that the index does not know of.
func (x *index) find(instances []string, now time.Time) (names []string, ok bool) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	fresh := !x.at.IsZero() && now.Sub(x.at) < listedFor
	seen := map[string]bool{}
	for _, id := range instances {
		if len(x.names[id]) == 0 && !fresh {
			return nil, false
		}
		for _, name := range x.names[id] {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names, true
}

func (x *index) remember(claims []api.NodeClaim, at time.Time) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	x.at, x.names = at, map[string][]string{}
	for i := range claims {
		if id, launched := api.InstanceID(claims[i].Status.ProviderID); launched {
			x.names[id] = append(x.names[id], claims[i].Name)
		}
	}
}

// claims reads the claims that the events may be about, as they are now: each by its name
// where the index knows it, else all of them.
func (h *handler) claims(ctx context.Context, client kubernetes, messages []*message) ([]api.NodeClaim, error) {
	var instances []string
	all := false
	for _, message := range messages {
		if message.err != nil || message.foreign {
			continue
		}
		instances = append(instances, message.event.Detail.Instances()...)
		// A reservation's are found by their label.
		_, reservation := message.event.Detail.(*events.CapacityBlockExpiration)
		all = all || reservation
	}
	now := h.now()
	if names, known := h.index.find(instances, now); known && !all {
		return read(ctx, client, names)
	}
	listed, err := client.NodeClaims(ctx)
	if err == nil {
		h.index.remember(listed, now)
	}
	return listed, err
}

// read reads the claims by their names; one that is gone needs nothing any more.
func read(ctx context.Context, client kubernetes, names []string) ([]api.NodeClaim, error) {
	found, failed := make([]*api.NodeClaim, len(names)), make([]error, len(names))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, name := range names {
		group.Go(func() error {
			var err error
			if found[i], err = client.NodeClaim(ctx, name); err != nil && !cluster.IsGone(err) {
				failed[i] = fmt.Errorf("nodeclaim %q: %w", name, err)
			}
			return nil
		})
	}
	_ = group.Wait() // each has its own error
	var claims []api.NodeClaim
	for _, claim := range found {
		if claim != nil {
			claims = append(claims, *claim)
		}
	}
	return claims, errors.Join(failed...)
}

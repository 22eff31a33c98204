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
// somebody else's without another list, which in a large cluster is most of what a storm costs
// here: a claim gets its instance within a second or two of the launch, and no instance is
// taken back that soon. Changes of state do come that soon, for each instance that is
// launched; what they tell of is looked for by lifecycle within seconds all the same, or, of an
// instance that ends by itself, with its next tick.
const (
	listedFor          = 2 * time.Second
	listedForItsChange = 10 * time.Second
)

// index remembers which instance is which claim's, which never changes, so that a storm of
// events over a large cluster costs one list in a while and not one a batch. A cold
// container lists.
type index struct {
	mutex sync.Mutex
	at    time.Time
	names map[string][]string // of claims, by instance
}

// find names the claims of the instances, given with how long each may be taken for somebody
// else's; it fails to when one of them may be a claim's that the index does not know of.
func (x *index) find(instances map[string]time.Duration, now time.Time) (names []string, ok bool) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	seen := map[string]bool{}
	for id, within := range instances {
		if len(x.names[id]) == 0 && (x.at.IsZero() || now.Sub(x.at) >= within) {
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
	instances := map[string]time.Duration{}
	all := false
	for _, message := range messages {
		if message.err != nil || message.foreign {
			continue
		}
		_, changed := message.event.Detail.(*events.StateChange)
		for _, id := range message.event.Detail.Instances() {
			if _, warned := instances[id]; changed && !warned {
				instances[id] = listedForItsChange
			} else if !changed {
				instances[id] = listedFor
			}
		}
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

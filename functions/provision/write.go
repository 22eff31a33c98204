package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/plan"
)

// writers is how many objects are written at a time.
const writers = 16

// write stores new claims: the intent, before anything is asked of EC2. Equal claims
// are told on the way which of them one request will be made for. What is stored comes
// back in the order of the claims, nil where it failed.
func (r *run) write(ctx context.Context, snapshot *plan.Snapshot, claims []api.NodeClaim) ([]*api.NodeClaim, error) {
	var failures error
	for i := range claims {
		if claims[i].Annotations == nil {
			claims[i].Annotations = map[string]string{}
		}
		claims[i].Annotations[api.AttemptAnnotationKey] = "1"
	}
	failures = errors.Join(failures, r.stamp(snapshot, claims))
	failures = errors.Join(failures, r.batch(snapshot, claims))
	stored := make([]*api.NodeClaim, len(claims))
	failed := make([]error, len(claims))
	var group errgroup.Group
	group.SetLimit(writers)
	for i := range claims {
		group.Go(func() error {
			claim := &claims[i]
			if stored[i], failed[i] = r.client.CreateNodeClaim(ctx, claim); failed[i] != nil {
				failed[i] = fmt.Errorf("creating a nodeclaim of nodepool %q: %w", claim.Labels[api.NodePoolLabelKey], failed[i])
				stored[i] = nil
			}
			return nil
		})
	}
	_ = group.Wait() // each has its own error: one claim's does not stop another's
	for _, claim := range stored {
		if claim != nil {
			r.fresh[launch.Token(claim)] = true
		}
	}
	return stored, errors.Join(append(failed, failures)...)
}

// stamp writes on the claims what their pools are hashed to, by which drift is found.
func (r *run) stamp(snapshot *plan.Snapshot, claims []api.NodeClaim) error {
	hashes := map[string]string{}
	var failures error
	for _, pools := range [][]api.NodePool{snapshot.NodePools, r.static} {
		for i := range pools {
			hash, err := disruption.PoolHash(&pools[i])
			failures = errors.Join(failures, err)
			hashes[pools[i].Name] = hash
		}
	}
	for i := range claims {
		disruption.Stamp(&claims[i], hashes[claims[i].Labels[api.NodePoolLabelKey]])
	}
	return failures
}

// batch writes on the claims, which are not stored yet, which of them are launched
// together: those of one shape, as many as one request asks for.
func (r *run) batch(snapshot *plan.Snapshot, claims []api.NodeClaim) error {
	var failures error
	var order []string
	shapes := map[string][]*api.NodeClaim{}
	for i := range claims {
		shape, err := launch.Shape(&claims[i], r.typesFor(snapshot, &claims[i]))
		if err != nil {
			failures = errors.Join(failures, err) // and is launched by itself, which says the same
			continue
		}
		if len(shapes[shape]) == 0 {
			order = append(order, shape)
		}
		shapes[shape] = append(shapes[shape], &claims[i])
	}
	for _, shape := range order {
		for together := range slices.Chunk(shapes[shape], launch.MaximumBatch) {
			if len(together) == 1 {
				continue // one by itself carries its name on its instance from the beginning
			}
			batch := launch.Batch{ID: strings.ToLower(rand.Text()), Size: len(together)}
			for i, claim := range together {
				batch.Index = i
				claim.Annotations[api.BatchAnnotationKey] = batch.String()
			}
		}
	}
	return failures
}

// apart makes each waiting claim of a batch one by itself, which is launched with a
// token of its own.
func (r *run) apart(ctx context.Context, group launch.Group) ([]launch.Group, error) {
	slog.WarnContext(ctx, "a batch is launched one by one: its writing was cut off, or a nodeclaim of it was deleted", "batch", group.ID, "nodeclaims", len(group.Waiting), "of", group.Size)
	changed := make([]*api.NodeClaim, len(group.Waiting))
	failed := make([]error, len(group.Waiting))
	var writing errgroup.Group
	writing.SetLimit(writers)
	for i := range group.Waiting {
		writing.Go(func() error {
			changed[i], failed[i] = r.annotate(ctx, &group.Waiting[i], map[string]any{api.BatchAnnotationKey: nil})
			return nil
		})
	}
	_ = writing.Wait() // each has its own error: one claim's does not stop another's
	return launch.Groups(present(changed)), errors.Join(failed...)
}

// present are the claims that there are.
func present(claims []*api.NodeClaim) []api.NodeClaim {
	var there []api.NodeClaim
	for _, claim := range claims {
		if claim != nil {
			there = append(there, *claim)
		}
	}
	return there
}

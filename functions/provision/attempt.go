package main

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// hold makes sure that the claims cannot go before their instances: one that a person
// wrote has no finalizer yet. A claim that has changed or gone since it was read is
// left out.
func (l *launching) hold(ctx context.Context, claims []api.NodeClaim) ([]api.NodeClaim, error) {
	var held []api.NodeClaim
	for i := range claims {
		claim := &claims[i]
		if slices.Contains(claim.Finalizers, api.TerminationFinalizer) {
			held = append(held, *claim)
			continue
		}
		stored, err := l.run.client.PatchNodeClaim(ctx, claim.Name, map[string]any{"metadata": map[string]any{
			"resourceVersion": claim.ResourceVersion, "finalizers": append(slices.Clone(claim.Finalizers), api.TerminationFinalizer),
		}})
		switch {
		case err == nil:
			held = append(held, *stored)
		case !cluster.IsConflict(err) && !cluster.IsGone(err):
			return nil, err
		}
	}
	return held, nil
}

// annotate changes annotations of a claim as it was read; nil when it has changed or gone since.
func (r *run) annotate(ctx context.Context, claim *api.NodeClaim, annotations map[string]any) (*api.NodeClaim, error) {
	stored, err := r.client.PatchNodeClaim(ctx, claim.Name, map[string]any{"metadata": map[string]any{
		"resourceVersion": claim.ResourceVersion, "annotations": annotations,
	}})
	if cluster.IsConflict(err) || cluster.IsGone(err) {
		return nil, nil
	}
	return stored, err
}

// attempt is the number of the claim's launch; a claim that a person wrote has none yet.
func attempt(claim *api.NodeClaim) int {
	number, err := strconv.Atoi(claim.Annotations[api.AttemptAnnotationKey])
	if err != nil || number < 1 {
		return 1
	}
	return number
}

// firstPause is what the third attempt waits for, counted from the claim's creation.
const firstPause = 20 * time.Second

// due tells whether it is time for the claim's attempt: the second comes with the next
// pass, and each further one waits about twice as long as the one before, so that what
// a person has to mend is not asked for every few seconds until the claim's time is up.
func (r *run) due(claim *api.NodeClaim) bool {
	number := attempt(claim)
	if number <= 2 {
		return true
	}
	wait := firstPause * time.Duration(1<<min(number-2, 8)-1)
	return r.now().Sub(claim.CreationTimestamp.Time) >= wait
}

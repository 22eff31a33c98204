package intent

import (
	"errors"
	"slices"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/disruption/drift"
	"github.com/whittle-dev/whittle/shared/launch"
)

// Context is what Prepare needs to know of the cluster.
type Context struct {
	// Pools are the pools of the claims.
	Pools []api.NodePool
	// Types are the instance types that the claim's node can be.
	Types func(*api.NodeClaim) []catalog.InstanceType
	// NewID returns a new name for a batch. No other batch has had it.
	NewID func() string
}

// Prepare completes claims before they are written. It changes them in place. The errors are about
// single claims, which are written all the same, each as a group of its own: their launch reports
// the same error on them.
func Prepare(claims []api.NodeClaim, in Context) error {
	for i := range claims {
		if claims[i].Annotations == nil {
			claims[i].Annotations = map[string]string{}
		}
		claims[i].Annotations[api.AttemptAnnotationKey] = "1"
	}
	unhashed := stamp(claims, in.Pools)
	unbatched := batch(claims, in)
	return errors.Join(unhashed, unbatched)
}

// stamp writes on the claims the hash of their pool, by which drift is found.
func stamp(claims []api.NodeClaim, pools []api.NodePool) error {
	hashes := map[string]string{}
	var failures []error
	for i := range pools {
		hash, err := drift.PoolHash(&pools[i])
		failures = append(failures, err)
		hashes[pools[i].Name] = hash
	}
	for i := range claims {
		drift.Stamp(&claims[i], hashes[claims[i].Labels[api.NodePoolLabelKey]])
	}
	return errors.Join(failures...)
}

// batch writes on the claims which of them one request launches: those whose launches are equal, up
// to the largest batch.
func batch(claims []api.NodeClaim, in Context) error {
	var failures []error
	var order []string
	equal := map[string][]*api.NodeClaim{} // by launch.BatchKey
	for i := range claims {
		key, err := launch.BatchKey(&claims[i], in.Types(&claims[i]))
		if err != nil {
			failures = append(failures, err)
			continue
		}
		if len(equal[key]) == 0 {
			order = append(order, key)
		}
		equal[key] = append(equal[key], &claims[i])
	}
	for _, key := range order {
		for together := range slices.Chunk(equal[key], launch.MaximumBatch) {
			if len(together) == 1 {
				continue // the instance of a single claim has the claim's name from the beginning
			}
			id := in.NewID()
			for i, claim := range together {
				claim.Annotations[api.BatchAnnotationKey] = launch.Batch{ID: id, Size: len(together), Index: i}.String()
			}
		}
	}
	return errors.Join(failures...)
}

package lifecycle

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/cluster"
)

// stampHashes writes the hashes of pools and classes on them, for Karpenter and for people. A claim
// whose hash has another version got the new one in this pass, so its owner follows at the next
// tick.
func (p *pass) stampHashes(ctx context.Context) error {
	var failed []error
	stamped := map[string]bool{} // classes, which several pools may share
	for i := range p.seen.owners.pools {
		pool := &p.seen.owners.pools[i]
		origin := p.seen.origins[pool.Name]
		if origin == nil {
			continue
		}
		if hashes := origin.PoolAnnotations(p.seen.claims); hashes != nil && pool.DeletionTimestamp == nil {
			patch := annotationsPatch(pool.UID, hashes)
			failed = append(failed, cluster.IgnoreStale(p.client.PatchNodePool(ctx, pool.Name, patch)))
		}
		class := origin.Class
		if class == nil || stamped[class.Name] || class.DeletionTimestamp != nil {
			continue
		}
		stamped[class.Name] = true
		if hashes := origin.ClassAnnotations(p.seen.claims); hashes != nil {
			patch := annotationsPatch(class.UID, hashes)
			failed = append(failed, cluster.IgnoreStale(p.client.PatchNodeClass(ctx, class.Name, patch)))
		}
	}
	return errors.Join(failed...)
}

// annotationsPatch adds annotations to the object with the UID. An object that has another one is a
// conflict.
func annotationsPatch(uid types.UID, annotations map[string]string) map[string]any {
	return map[string]any{"metadata": map[string]any{"uid": uid, "annotations": annotations}}
}

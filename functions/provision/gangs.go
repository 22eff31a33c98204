package provision

import (
	"context"
	"errors"
	"log/slog"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/provision/intent"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/misfit"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/sight"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// returnParts deletes the claims that were launched for a part of a gang whose other part has no place.
// Lifecycle ends their instances. The plan comes from the watch cache, which may lag. returnParts therefore
// reads everything again, past the cache. A claim that has changed since stays until the next pass. Pods
// that have no place elsewhere wait, so that the same part is not launched again at once.
func (r *pass) returnParts(ctx context.Context, returned []*api.NodeClaim, decided *plan.Plan) error {
	if len(returned) == 0 {
		return nil
	}
	objects, err := sight.Objects(ctx, sight.Cluster{Client: r.client.Consistent()})
	if err != nil {
		return err
	}
	seen, err := snapshot.Disruption(objects, r.client.CertificateAuthority())
	if err != nil {
		return err
	}
	var requested []corev1.Pod
	if r.settings.ProvisioningRequests {
		requests, err := sight.Requests(ctx, r.client.Consistent(), objects)
		if err != nil {
			return err
		}
		for i := range requests {
			requested = append(requested, requests[i].Pods...)
		}
	}
	still := intent.StillReturned(returned, seen, requested)
	// The memory is written first: a pass that died after the deletions would leave none.
	inVain := intent.WithoutPlace(still, decided)
	failures := []error{r.remember(ctx, misfit.Returned(r.view.Misfits, inVain, seen.Waiting, r.now()), len(inVain) > 0)}
	for _, claim := range still {
		slog.InfoContext(ctx, "deleting nodeclaim of a gang that is not whole", "NodeClaim", claim.Name)
		if err := r.client.DeleteUnchangedNodeClaim(ctx, claim); !cluster.IsConflict(err) {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

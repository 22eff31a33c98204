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
	var failures []error
	var gone []*api.NodeClaim
	for _, claim := range intent.StillReturned(returned, seen, requested) {
		slog.InfoContext(ctx, "deleting nodeclaim of a gang that is not whole", "NodeClaim", claim.Name)
		if err := r.client.DeleteUnchangedNodeClaim(ctx, claim); !cluster.IsConflict(err) {
			failures = append(failures, err)
			if err == nil {
				gone = append(gone, claim)
			}
		}
	}
	// The memory comes last. Pods that wait are in no plan, and a claim that stayed would run beside them
	// until they wait no more. A pass that dies before this buys the part once more.
	inVain := intent.WithoutPlace(gone, decided)
	misfits := misfit.Returned(r.view.Misfits, inVain, seen.Waiting, r.now())
	failures = append(failures, r.remember(ctx, misfits, len(inVain) > 0))
	return errors.Join(failures...)
}

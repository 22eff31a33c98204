package install

import (
	"context"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/whittle-dev/whittle/functions/install/manifests"
)

// protect installs the admission policies, or removes them where the setting turns them off. An API server
// before 1.30 has none. Decisions bound what nodes write in any case, so that such a cluster is accepted.
func (h *Handler) protect(ctx context.Context, client *settling) error {
	policies, err := manifests.Admission(h.admission)
	if err != nil {
		return err
	}
	for i := range policies {
		if h.admission == manifests.ModeOff {
			err = client.settled(ctx, func() error { return client.client.Remove(ctx, &policies[i]) })
		} else {
			err = client.apply(ctx, &policies[i])
		}
		if apierrors.IsNotFound(err) {
			slog.WarnContext(ctx, "the cluster has no admission policies: nodes and tenants are bound by checks alone",
				"cluster", h.cluster, "remedy", "update the cluster to Kubernetes 1.30 or later")
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

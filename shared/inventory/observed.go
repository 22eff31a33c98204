package inventory

import (
	"context"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
)

// Observed reads all observations of EC2's offer since the catalogue was read. The claims must be
// all claims of the cluster. The values of kubelet expressions are read if a class has any.
func Observed(
	ctx context.Context, client *cluster.Client, claims []api.NodeClaim, classes []api.EC2NodeClass,
) (catalog.Observed, error) {
	unavailable, err := Unavailable(ctx, client)
	if err != nil {
		return catalog.Observed{}, err
	}
	learned, err := Learned(ctx, client)
	if err != nil {
		return catalog.Observed{}, err
	}
	counts, err := Reservations(ctx, client)
	if err != nil {
		return catalog.Observed{}, err
	}
	values, err := KubeletValuesOf(ctx, client, classes)
	if err != nil {
		return catalog.Observed{}, err
	}
	return catalog.Observed{
		Unavailable: unavailable, Learned: learned, Reservations: catalog.Available(counts, claims), Kubelet: values,
	}, nil
}

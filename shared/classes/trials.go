package classes

import (
	"context"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// trials are launches of the resolved class that its NodePools allow. There is none while no pool names
// the class.
func trials(
	ctx context.Context, client *cluster.Client, class *api.EC2NodeClass, now time.Time,
) ([]launch.Trial, error) {
	pools, err := client.NodePools(ctx)
	if err != nil {
		return nil, err
	}
	pools = slices.DeleteFunc(pools, func(pool api.NodePool) bool {
		ref := pool.Spec.Template.Spec.NodeClassRef
		return ref == nil || ref.Name != class.Name || pool.DeletionTimestamp != nil
	})
	if len(pools) == 0 {
		return nil, nil
	}
	known, err := inventory.Catalog(ctx, client)
	if err != nil {
		return nil, err
	}
	types := catalog.Resolve(known, nodeclass.Planned(class), catalog.Observed{}, now)
	return launch.Trials(class, pools, types), nil
}

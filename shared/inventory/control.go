package inventory

import (
	"context"
	"errors"
	"maps"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/hours"
)

// ControlName is the ConfigMap in which people order something for the whole cluster. They write it with
// the command line, or with kubectl. No function writes it.
const ControlName = "whittle-control"

// ClusterOrder reads what a person ordered for the whole cluster, or nil. An order that cannot be read
// orders nothing and has its Problem. A reader without the right to read it sees none.
func ClusterOrder(ctx context.Context, store Store) (*hours.Order, error) {
	stored, err := store.ConfigMap(ctx, ControlName)
	if cluster.IsForbidden(err) {
		return nil, nil
	}
	if err != nil || stored == nil {
		return nil, err
	}
	order, err := hours.ReadOrder(stored.Data)
	var broken *hours.OrderError
	if errors.As(err, &broken) {
		return &hours.Order{Problem: err}, nil
	}
	return order, err
}

// PoolsWithOrder lists the pools, and writes the cluster's order on each.
func PoolsWithOrder(
	ctx context.Context, store Store, list func(context.Context) ([]api.NodePool, error),
) (pools []api.NodePool, err error) {
	var order *hours.Order
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) { pools, err = list(reading); return err })
	group.Go(func() (err error) { order, err = ClusterOrder(reading, store); return err })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i := range pools {
		pools[i].ClusterOrder = order
	}
	return pools, nil
}

// ChangeControl changes keys of the ConfigMap. An empty value removes its key. It leaves other keys
// alone.
func ChangeControl(ctx context.Context, store Store, changes map[string]string) error {
	return replace(func() error {
		stored, err := store.ConfigMap(ctx, ControlName)
		if err != nil {
			return err
		}
		if stored == nil {
			stored = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: ControlName}}
		}
		data := maps.Clone(stored.Data)
		if data == nil {
			data = map[string]string{}
		}
		maps.Copy(data, changes)
		maps.DeleteFunc(data, func(_, value string) bool { return value == "" })
		stored.Data = data
		return store.PutConfigMap(ctx, stored)
	})
}

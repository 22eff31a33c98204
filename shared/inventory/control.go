package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/hours"
)

// ControlName is the ConfigMap in which people order something for the whole cluster. They write it with
// the command line, or with kubectl. Provision writes what alarms say, and interrupt the orders that come
// as events.
const ControlName = "whittle-control"

// ClusterOrder reads what a person ordered for the whole cluster, or nil. An order that cannot be read
// orders nothing and has its Problem. A reader without the right to read it sees none.
func ClusterOrder(ctx context.Context, store Store) (*hours.Order, error) {
	order, _, err := orders(ctx, store)
	return order, err
}

// Freezes reads what people have frozen, or nil. Unlike other readers of the ConfigMap it fails
// without the right to read it: who is about to disrupt a node must know.
func Freezes(ctx context.Context, store Store) (*freeze.Freezes, error) {
	stored, err := store.ConfigMap(ctx, ControlName)
	if err != nil {
		return nil, fmt.Errorf("reading whether a person has frozen the cluster: %w", err)
	}
	if stored == nil {
		return nil, nil
	}
	return freeze.Read(stored.Data), nil
}

// orders reads the order and the freezes of the ConfigMap. One that cannot be read leaves the other
// alone.
func orders(ctx context.Context, store Store) (*hours.Order, *freeze.Freezes, error) {
	stored, err := store.ConfigMap(ctx, ControlName)
	if cluster.IsForbidden(err) {
		return nil, nil, nil
	}
	if err != nil || stored == nil {
		return nil, nil, err
	}
	frozen := freeze.Read(stored.Data)
	order, err := hours.ReadOrder(stored.Data)
	var broken *hours.OrderError
	if errors.As(err, &broken) {
		return &hours.Order{Problem: err}, frozen, nil
	}
	return order, frozen, err
}

// PoolsWithOrder lists the pools, and writes the cluster's order and the freezes on each.
func PoolsWithOrder(
	ctx context.Context, store Store, list func(context.Context) ([]api.NodePool, error),
) (pools []api.NodePool, err error) {
	var order *hours.Order
	var frozen *freeze.Freezes
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) { pools, err = list(reading); return err })
	group.Go(func() (err error) { order, frozen, err = orders(reading, store); return err })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i := range pools {
		pools[i].ClusterOrder, pools[i].Freezes = order, frozen
	}
	return pools, nil
}

// ChangeControl changes keys of the ConfigMap. An empty value removes its key. It leaves other keys
// alone.
func ChangeControl(ctx context.Context, store Store, changes map[string]string) error {
	return changeControl(ctx, store, func(data map[string]string) bool {
		maps.Copy(data, changes)
		return true
	})
}

// changeControl stores what change makes of the ConfigMap's data, without keys of empty values. It
// writes nothing where change reports that nothing changed.
func changeControl(ctx context.Context, store Store, change func(data map[string]string) bool) error {
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
		if !change(data) {
			return nil
		}
		maps.DeleteFunc(data, func(_, value string) bool { return value == "" })
		stored.Data = data
		return store.PutConfigMap(ctx, stored)
	})
}

package inventory

import (
	"context"
	"encoding/json"

	"github.com/whittle-dev/whittle/shared/misfit"
)

const (
	misfitsName = "whittle-misfits"
	misfitsKey  = "pods.json"
)

// Misfits reads which pods the nodes that were launched for them did not serve, by the pods' UIDs. An
// unreadable ConfigMap counts as empty: the next misfit is observed again.
func Misfits(ctx context.Context, store Store) (map[string]misfit.Misfit, error) {
	misfits, _, err := readMisfits(ctx, store)
	return misfits, err
}

// PutMisfits replaces the misfits. Provision alone writes them, under its Lease.
func PutMisfits(ctx context.Context, store Store, misfits map[string]misfit.Misfit) error {
	return replace(func() error {
		_, version, err := readMisfits(ctx, store)
		if err != nil {
			return err
		}
		return put(ctx, store, misfitsName, misfitsKey, version, misfits)
	})
}

func readMisfits(ctx context.Context, store Store) (map[string]misfit.Misfit, string, error) {
	misfits := map[string]misfit.Misfit{}
	stored, err := store.ConfigMap(ctx, misfitsName)
	if err != nil || stored == nil {
		return misfits, "", err
	}
	if err := json.Unmarshal([]byte(stored.Data[misfitsKey]), &misfits); err != nil || misfits == nil {
		misfits = map[string]misfit.Misfit{}
	}
	return misfits, stored.ResourceVersion, nil
}

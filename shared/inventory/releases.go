package inventory

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/release"
)

// releasesName is the ConfigMap in which disrupt remembers the releases of NodePools, one key each.
const releasesName = "whittle-releases"

// Releases reads what is remembered of releases, by the name of the NodePool.
func Releases(ctx context.Context, store Store) (map[string]release.Record, error) {
	stored, err := store.ConfigMap(ctx, releasesName)
	if err != nil {
		return nil, fmt.Errorf("reading the releases of nodepools: %w", err)
	}
	records := map[string]release.Record{}
	if stored != nil {
		for pool, text := range stored.Data {
			records[pool] = release.ReadRecord(text)
		}
	}
	return records, nil
}

// RememberReleases writes the records, and forgets all others. It writes nothing where they are
// known.
func RememberReleases(ctx context.Context, store Store, records map[string]release.Record) error {
	data := make(map[string]string, len(records))
	for pool, record := range records {
		data[pool] = record.Text()
	}
	return replace(func() error {
		stored, err := store.ConfigMap(ctx, releasesName)
		if err != nil {
			return err
		}
		if stored == nil {
			stored = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: releasesName}}
		}
		if maps.Equal(stored.Data, data) {
			return nil
		}
		stored.Data = data
		return store.PutConfigMap(ctx, stored)
	})
}

// ReleaseOrders reads what people have ordered about releases. Like Freezes it fails without the
// right to read it.
func ReleaseOrders(ctx context.Context, store Store) (release.Orders, error) {
	stored, err := store.ConfigMap(ctx, ControlName)
	if err != nil {
		return nil, fmt.Errorf("reading whether a person has stopped a release: %w", err)
	}
	if stored == nil {
		return nil, nil
	}
	return release.ReadOrders(stored.Data), nil
}

package inventory

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
)

const (
	learnedName = "whittle-learned-capacity"
	learnedKey  = "capacities.json"
)

// Store reads and writes the ConfigMaps of Whittle's namespace; cluster.Client implements it.
//
// ConfigMap returns nil without an error where there is no such ConfigMap. PutConfigMap returns an
// error for which cluster.IsConflict is true when another writer was faster, or when the version is
// not the stored one. Both may return errors of throttling and of the connection, which pass.
type Store interface {
	ConfigMap(ctx context.Context, name string) (*corev1.ConfigMap, error)
	PutConfigMap(ctx context.Context, object *corev1.ConfigMap) error
}

// Learned reads the observed capacities of nodes.
func Learned(ctx context.Context, store Store) (*catalog.Learned, error) {
	learned, _, err := readLearned(ctx, store)
	return learned, err
}

// PutLearned adds observations, and returns all known capacities. It writes nothing where they add
// nothing. Concurrent writers both succeed: the one with a conflict reads again.
func PutLearned(ctx context.Context, store Store, seen *catalog.Learned, now time.Time) (*catalog.Learned, error) {
	var known *catalog.Learned
	err := replace(func() error {
		var version string
		var err error
		if known, version, err = readLearned(ctx, store); err != nil {
			return err
		}
		if !known.Merge(seen) {
			return nil
		}
		known.Prune(now)
		return put(ctx, store, learnedName, learnedKey, version, known)
	})
	return known, err
}

// readLearned treats an unreadable ConfigMap as empty, because the existing nodes are observed
// again.
func readLearned(ctx context.Context, store Store) (*catalog.Learned, string, error) {
	learned := &catalog.Learned{}
	stored, err := store.ConfigMap(ctx, learnedName)
	if err != nil || stored == nil {
		return learned, "", err
	}
	if err := json.Unmarshal([]byte(stored.Data[learnedKey]), learned); err != nil {
		learned = &catalog.Learned{}
	}
	return learned, stored.ResourceVersion, nil
}

// put writes the value as the only entry of a ConfigMap. The version is that of the ConfigMap that
// was read, or empty.
func put(ctx context.Context, store Store, name, key, version string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding configmap %s: %w", name, err)
	}
	if len(text) > maximumSize {
		return fmt.Errorf("configmap %s would have %d bytes, a ConfigMap holds %d", name, len(text), maximumSize)
	}
	object := &corev1.ConfigMap{Data: map[string]string{key: string(text)}}
	object.Name, object.ResourceVersion = name, version
	return store.PutConfigMap(ctx, object)
}

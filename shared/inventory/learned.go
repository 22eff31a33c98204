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

// Store keeps the ConfigMaps of Whittle's namespace: a cluster.Client.
type Store interface {
	ConfigMap(ctx context.Context, name string) (*corev1.ConfigMap, error)
	PutConfigMap(ctx context.Context, object *corev1.ConfigMap) error
}

// Learned reads the capacities that nodes have been seen to have.
func Learned(ctx context.Context, store Store) (*catalog.Learned, error) {
	learned, _, err := readLearned(ctx, store)
	return learned, err
}

// PutLearned adds what has been seen, and returns all that is known then. Nothing is written unless
// that tells something new. Two who write at once both get theirs in: the one that meets the other
// reads again.
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

// readLearned takes a ConfigMap that cannot be read for an empty one: each node that is there tells
// its capacity again.
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

// put writes the value as the one entry of a ConfigMap, which has the version if it was there.
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

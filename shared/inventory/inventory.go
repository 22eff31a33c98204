// Package inventory stores the facts about EC2's offer that all functions share, in ConfigMaps of
// Whittle's namespace.
//
// There are eight: the catalogue of instance types and prices, offerings without capacity with the
// interruptions of spot nodes, observed memory capacities of nodes, the free instances of capacity
// reservations, the values of kubelet expressions, the pods that the nodes launched for them did
// not serve, the account's commitments, and what is used of them.
//
// Its place: functions/catalog writes the catalogue and the commitments; provision, disrupt, interrupt and lifecycle
// read the others and add their observations. Only lifecycle writes the values of expressions. Only
// provision reads and writes the last.
//
// Invariants: two concurrent writers both get their observations in, because a write that conflicts
// is repeated on a fresh reading. An unreadable ConfigMap of observations counts as empty, because
// observations come again. An unreadable catalogue is an error.
package inventory

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
)

const (
	catalogName = "whittle-catalog"
	catalogKey  = "catalog.json.gz"

	unavailableName = "whittle-unavailable-offerings"
	unavailableKey  = "offerings.json"

	// maximumSize is Kubernetes' limit for a ConfigMap (1 MiB) without the space for metadata.
	// https://kubernetes.io/docs/concepts/configuration/configmap/
	maximumSize = 1<<20 - 16<<10
	// tries limits the repetitions of a conflicting write.
	tries = 5
)

// ErrNoCatalog means that functions/catalog has not written the catalogue yet.
var ErrNoCatalog = errors.New(
	"there is no catalogue of instance types yet: the catalog function writes it each hour and after an " +
		"installation; invoke it now, or read its log",
)

// Catalog reads the catalogue. It returns ErrNoCatalog where there is none, an error with the
// remedy where it cannot be decoded, and the store's error otherwise.
func Catalog(ctx context.Context, store Store) (*catalog.Catalog, error) {
	stored, err := store.ConfigMap(ctx, catalogName)
	if err != nil {
		return nil, err
	}
	if stored == nil || len(stored.BinaryData[catalogKey]) == 0 {
		return nil, ErrNoCatalog
	}
	reader, err := gzip.NewReader(bytes.NewReader(stored.BinaryData[catalogKey]))
	if err != nil {
		return nil, fmt.Errorf(
			"configmap %s/%s: binaryData %q is not gzip: delete it and invoke the catalog function: %w",
			cluster.Namespace, catalogName, catalogKey, err,
		)
	}
	var snapshot catalog.Catalog
	if err := json.NewDecoder(reader).Decode(&snapshot); err != nil {
		return nil, fmt.Errorf(
			"configmap %s/%s: binaryData %q is not a catalogue: delete it and invoke the catalog function: %w",
			cluster.Namespace, catalogName, catalogKey, err,
		)
	}
	return &snapshot, nil
}

// PutCatalog replaces the catalogue. It returns an error where the catalogue is too large for a
// ConfigMap.
func PutCatalog(ctx context.Context, store Store, snapshot *catalog.Catalog) error {
	if err := pack(ctx, store, catalogName, catalogKey, snapshot); err != nil {
		return fmt.Errorf("the catalogue of %d instance types: %w", len(snapshot.InstanceTypes), err)
	}
	return nil
}

// compress returns the value as JSON with gzip, or an error where that is too large for a ConfigMap.
func compress(value any) ([]byte, error) {
	var compressed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(writer).Encode(value); err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	if compressed.Len() > maximumSize {
		return nil, fmt.Errorf("it has %d bytes, a ConfigMap holds %d", compressed.Len(), maximumSize)
	}
	return compressed.Bytes(), nil
}

// replace repeats reading and writing until the write does not conflict.
func replace(readAndWrite func() error) error {
	var err error
	for range tries {
		if err = readAndWrite(); !cluster.IsConflict(err) {
			return err
		}
	}
	return err
}

// Unavailable reads the offerings without capacity.
func Unavailable(ctx context.Context, client *cluster.Client) (*catalog.Unavailable, error) {
	unavailable, _, err := readUnavailable(ctx, client)
	return unavailable, err
}

// MarkUnavailable adds the marks. Concurrent writers both succeed: the one with a conflict reads
// again. It returns the last conflict after several tries.
func MarkUnavailable(ctx context.Context, client *cluster.Client, marks *catalog.Unavailable, now time.Time) error {
	return changeUnavailable(ctx, client, func(known *catalog.Unavailable) bool {
		known.Merge(marks)
		known.Prune(now)
		return true
	})
}

// changeUnavailable stores what change makes of the unavailable offerings. It writes nothing where
// change reports that nothing changed.
func changeUnavailable(ctx context.Context, store Store, change func(*catalog.Unavailable) bool) error {
	return replace(func() error {
		known, version, err := readUnavailable(ctx, store)
		if err != nil || !change(known) {
			return err
		}
		text, err := json.Marshal(known)
		if err != nil {
			return fmt.Errorf("encoding the unavailable offerings: %w", err)
		}
		object := &corev1.ConfigMap{Data: map[string]string{unavailableKey: string(text)}}
		object.Name, object.ResourceVersion = unavailableName, version
		return store.PutConfigMap(ctx, object)
	})
}

// readUnavailable treats an unreadable ConfigMap as empty. Its content would expire within minutes,
// and a launch finds it out again.
func readUnavailable(ctx context.Context, store Store) (*catalog.Unavailable, string, error) {
	stored, err := store.ConfigMap(ctx, unavailableName)
	if err != nil {
		return nil, "", err
	}
	unavailable := &catalog.Unavailable{}
	if stored == nil {
		return unavailable, "", nil
	}
	if err := json.Unmarshal([]byte(stored.Data[unavailableKey]), unavailable); err != nil {
		return &catalog.Unavailable{}, stored.ResourceVersion, nil
	}
	return unavailable, stored.ResourceVersion, nil
}

// Package inventory keeps what all functions must know of EC2's offer in
// ConfigMaps of Whittle's namespace: the catalogue of instance types and prices,
// the offerings that EC2 has no room for now, the capacity that nodes were seen
// to have, and what capacity reservations have left.
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

	// maximumSize is what Kubernetes takes in one ConfigMap, less what its metadata needs.
	maximumSize = 1<<20 - 16<<10
	// tries bounds how often a write that met another is repeated.
	tries = 5
)

// ErrNoCatalog tells that the catalogue has not been read yet.
var ErrNoCatalog = errors.New(
	"there is no catalogue of instance types yet: the catalog function writes it each hour and after an " +
		"installation; invoke it now, or read its log",
)

// Catalog reads the catalogue; ErrNoCatalog when there is none.
func Catalog(ctx context.Context, store Store) (*catalog.Snapshot, error) {
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
	var snapshot catalog.Snapshot
	if err := json.NewDecoder(reader).Decode(&snapshot); err != nil {
		return nil, fmt.Errorf(
			"configmap %s/%s: binaryData %q is not a catalogue: delete it and invoke the catalog function: %w",
			cluster.Namespace, catalogName, catalogKey, err,
		)
	}
	return &snapshot, nil
}

// PutCatalog replaces the catalogue.
func PutCatalog(ctx context.Context, client *cluster.Client, snapshot *catalog.Snapshot) error {
	compressed, err := compress(snapshot)
	if err != nil {
		return err
	}
	return replace(func() error {
		object := &corev1.ConfigMap{BinaryData: map[string][]byte{catalogKey: compressed}}
		stored, err := client.ConfigMap(ctx, catalogName)
		if err != nil {
			return err
		}
		if stored != nil {
			object.ResourceVersion = stored.ResourceVersion
		}
		object.Name = catalogName
		return client.PutConfigMap(ctx, object)
	})
}

func compress(snapshot *catalog.Snapshot) ([]byte, error) {
	var compressed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(writer).Encode(snapshot); err != nil {
		return nil, fmt.Errorf("encoding the catalogue: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("encoding the catalogue: %w", err)
	}
	if compressed.Len() > maximumSize {
		return nil, fmt.Errorf(
			"the catalogue of %d instance types has %d bytes, a ConfigMap holds %d", len(snapshot.InstanceTypes),
			compressed.Len(), maximumSize,
		)
	}
	return compressed.Bytes(), nil
}

// replace reads and writes until the write does not meet another's.
func replace(readAndWrite func() error) error {
	var err error
	for range tries {
		if err = readAndWrite(); !cluster.IsConflict(err) {
			return err
		}
	}
	return err
}

// Unavailable reads the offerings that EC2 has no room for.
func Unavailable(ctx context.Context, client *cluster.Client) (*catalog.Unavailable, error) {
	unavailable, _, err := readUnavailable(ctx, client)
	return unavailable, err
}

// MarkUnavailable adds what is in the marks. Two who write at once both get
// theirs in: the one that meets the other reads again.
func MarkUnavailable(ctx context.Context, client *cluster.Client, marks *catalog.Unavailable, now time.Time) error {
	return replace(func() error {
		known, version, err := readUnavailable(ctx, client)
		if err != nil {
			return err
		}
		known.Merge(marks)
		known.Prune(now)
		text, err := json.Marshal(known)
		if err != nil {
			return fmt.Errorf("encoding the unavailable offerings: %w", err)
		}
		object := &corev1.ConfigMap{Data: map[string]string{unavailableKey: string(text)}}
		object.Name, object.ResourceVersion = unavailableName, version
		return client.PutConfigMap(ctx, object)
	})
}

// readUnavailable takes a ConfigMap that cannot be read for an empty one: what
// it held runs out within minutes, and a launch finds it out again.
func readUnavailable(ctx context.Context, client *cluster.Client) (*catalog.Unavailable, string, error) {
	stored, err := client.ConfigMap(ctx, unavailableName)
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

package inventory

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/commitment"
)

const (
	commitmentFactsName = "whittle-commitments"
	commitmentFactsKey  = "commitments.json.gz"
	// CommitmentsName is the ConfigMap of the count of what the account's instances use of them.
	CommitmentsName = "whittle-commitments-used"
	commitmentsKey  = "used.json.gz"
)

// CommitmentFacts reads the account's commitments. Without any it returns none.
func CommitmentFacts(ctx context.Context, store Store) (commitment.Facts, error) {
	facts, err := unpack[commitment.Facts](ctx, store, commitmentFactsName, commitmentFactsKey)
	if err != nil || facts == nil {
		return commitment.Facts{}, err
	}
	return *facts, nil
}

// PutCommitmentFacts replaces the account's commitments.
func PutCommitmentFacts(ctx context.Context, store Store, facts commitment.Facts) error {
	return pack(ctx, store, commitmentFactsName, commitmentFactsKey, facts)
}

// Commitments reads how the commitments paid for the account's instances at last, or nil if nobody has counted yet.
func Commitments(ctx context.Context, store Store) (*commitment.Reading, error) {
	return unpack[commitment.Reading](ctx, store, CommitmentsName, commitmentsKey)
}

// PutCommitments replaces the reading.
func PutCommitments(ctx context.Context, store Store, reading *commitment.Reading) error {
	return pack(ctx, store, CommitmentsName, commitmentsKey, reading)
}

// pack writes the value as JSON with gzip.
func pack(ctx context.Context, store Store, name, key string, value any) error {
	compressed, err := compress(value)
	if err != nil {
		return fmt.Errorf("configmap %s/%s: %w", cluster.Namespace, name, err)
	}
	return replace(func() error {
		object := &corev1.ConfigMap{BinaryData: map[string][]byte{key: compressed}}
		stored, err := store.ConfigMap(ctx, name)
		if err != nil {
			return err
		}
		if stored != nil {
			object.ResourceVersion = stored.ResourceVersion
		}
		object.Name = name
		return store.PutConfigMap(ctx, object)
	})
}

// unpack reads what pack wrote. A ConfigMap that cannot be read counts as absent, because its content comes again.
func unpack[T any](ctx context.Context, store Store, name, key string) (*T, error) {
	stored, err := store.ConfigMap(ctx, name)
	if err != nil || stored == nil {
		return nil, err
	}
	reader, err := gzip.NewReader(bytes.NewReader(stored.BinaryData[key]))
	if err != nil {
		return nil, nil
	}
	value := new(T)
	if err := json.NewDecoder(reader).Decode(value); err != nil {
		return nil, nil
	}
	return value, nil
}

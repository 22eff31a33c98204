package inventory

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/cluster"
)

// PutShifted replaces the zones that are shifted away, by their ids, beside the unavailable
// offerings. It writes only when they differ, and returns those that were known before.
func PutShifted(
	ctx context.Context, client *cluster.Client, shifted map[string]time.Time, now time.Time,
) (before map[string]time.Time, err error) {
	err = replace(func() error {
		known, version, err := readUnavailable(ctx, client)
		if err != nil {
			return err
		}
		known.Prune(now)
		before = maps.Clone(known.Shifted)
		if maps.EqualFunc(before, shifted, time.Time.Equal) {
			return nil
		}
		known.Shifted = shifted
		text, err := json.Marshal(known)
		if err != nil {
			return fmt.Errorf("encoding the unavailable offerings: %w", err)
		}
		object := &corev1.ConfigMap{Data: map[string]string{unavailableKey: string(text)}}
		object.Name, object.ResourceVersion = unavailableName, version
		return client.PutConfigMap(ctx, object)
	})
	return before, err
}

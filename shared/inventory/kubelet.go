package inventory

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/kubelet"
)

const (
	kubeletName = "whittle-kubelet-values"
	kubeletKey  = "values.json.gz"
)

// KubeletValues reads the values of the expressions in classes' kubelet settings.
func KubeletValues(ctx context.Context, store Store) (kubelet.Evaluations, error) {
	values, _, err := readKubeletValues(ctx, store)
	return values, err
}

// KubeletValuesOf reads the values if one of the classes has an expression.
func KubeletValuesOf(ctx context.Context, store Store, classes []api.EC2NodeClass) (kubelet.Evaluations, error) {
	for i := range classes {
		if kubelet.HasExpressions(&classes[i]) {
			return KubeletValues(ctx, store)
		}
	}
	return nil, nil
}

// PutKubeletValues replaces the values. Where they are the stored ones it writes nothing. It returns
// an error where they are too large for a ConfigMap.
func PutKubeletValues(ctx context.Context, store Store, values kubelet.Evaluations) error {
	compressed, err := compress(values)
	if err != nil {
		return fmt.Errorf("the values of kubelet expressions: %w", err)
	}
	return replace(func() error {
		known, version, err := readKubeletValues(ctx, store)
		if err != nil || reflect.DeepEqual(known, values) {
			return err
		}
		object := &corev1.ConfigMap{BinaryData: map[string][]byte{kubeletKey: compressed}}
		object.Name, object.ResourceVersion = kubeletName, version
		return store.PutConfigMap(ctx, object)
	})
}

// readKubeletValues treats an unreadable ConfigMap as empty, because lifecycle computes the values
// again each minute.
func readKubeletValues(ctx context.Context, store Store) (kubelet.Evaluations, string, error) {
	values := kubelet.Evaluations{}
	stored, err := store.ConfigMap(ctx, kubeletName)
	if err != nil || stored == nil {
		return values, "", err
	}
	reader, err := gzip.NewReader(bytes.NewReader(stored.BinaryData[kubeletKey]))
	if err != nil || json.NewDecoder(reader).Decode(&values) != nil || values == nil {
		return kubelet.Evaluations{}, stored.ResourceVersion, nil
	}
	return values, stored.ResourceVersion, nil
}

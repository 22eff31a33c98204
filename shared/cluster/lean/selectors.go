package lean

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/spread"
)

// specSelector is a field number that the specs of Service, ReplicationController, ReplicaSet and
// StatefulSet have in common.
const specSelector = 2

// Selectors decodes a list of the kind, and returns its metadata. It leaves out objects without a
// selector.
func Selectors(kind spread.Kind, body []byte) (found []spread.Selector, meta metav1.ListMeta, err error) {
	meta, err = list(body, func(item []byte) error {
		one, err := selector(kind, item)
		if err == nil && one.Selector != nil {
			found = append(found, one)
		}
		return err
	})
	if err != nil {
		return nil, metav1.ListMeta{}, fmt.Errorf("decoding selectors of kind %s: %w", kind, err)
	}
	return found, meta, nil
}

func selector(kind spread.Kind, item []byte) (spread.Selector, error) {
	one := spread.Selector{Kind: kind}
	err := each(item, func(f field) error {
		switch f.number {
		case objectMeta:
			one.Namespace, one.Name = text(f.bytes, metaNamespace), text(f.bytes, metaName)
		case objectSpec:
			return each(f.bytes, func(f field) error {
				if f.number != specSelector {
					return nil
				}
				if one.Selector == nil {
					one.Selector = &metav1.LabelSelector{}
				}
				if kind == spread.ReplicaSet || kind == spread.StatefulSet {
					return one.Selector.Unmarshal(f.bytes)
				}
				if one.Selector.MatchLabels == nil {
					one.Selector.MatchLabels = map[string]string{}
				}
				one.Selector.MatchLabels[text(f.bytes, 1)] = text(f.bytes, 2)
				return nil
			})
		}
		return nil
	})
	return one, err
}

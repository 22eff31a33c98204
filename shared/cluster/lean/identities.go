package lean

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Identities visits the objects of a PartialObjectMetadataList by their namespace, name and
// resourceVersion, in the list's order. It returns the list's metadata. The bytes are part of the
// body.
func Identities(body []byte, visit func(namespace, name, version []byte)) (metav1.ListMeta, error) {
	meta, err := list(body, func(item []byte) error {
		var namespace, name, version []byte
		err := each(item, func(f field) error {
			if f.number != objectMeta {
				return nil
			}
			return each(f.bytes, func(f field) error {
				switch f.number {
				case metaNamespace:
					namespace = f.bytes
				case metaName:
					name = f.bytes
				case metaVersion:
					version = f.bytes
				}
				return nil
			})
		})
		if err == nil {
			visit(namespace, name, version)
		}
		return err
	})
	if err != nil {
		return metav1.ListMeta{}, fmt.Errorf("decoding metadata: %w", err)
	}
	return meta, nil
}

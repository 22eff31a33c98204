package cluster

import (
	"context"
	"fmt"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/whittle-dev/whittle/shared/cluster/lean"
	"github.com/whittle-dev/whittle/shared/spread"
)

// Selectors lists the selectors of a kind's objects in the namespace, or in all namespaces where it
// is empty. Nothing else of the objects is kept. It does not use the watch cache.
func (c *Client) Selectors(ctx context.Context, kind spread.Kind, namespace string) ([]spread.Selector, error) {
	path, err := selectorsPath(kind, namespace)
	if err != nil {
		return nil, err
	}
	return pages(ctx, c, path, runtime.ContentTypeProtobuf, func(body []byte) ([]spread.Selector, metav1.ListMeta, error) {
		return lean.Selectors(kind, body)
	})
}

func selectorsPath(kind spread.Kind, namespace string) (string, error) {
	within := ""
	if namespace != "" {
		within = "namespaces/" + url.PathEscape(namespace) + "/"
	}
	switch kind {
	case spread.Service:
		return "/api/v1/" + within + "services", nil
	case spread.ReplicationController:
		return "/api/v1/" + within + "replicationcontrollers", nil
	case spread.ReplicaSet:
		return "/apis/apps/v1/" + within + "replicasets", nil
	case spread.StatefulSet:
		return "/apis/apps/v1/" + within + "statefulsets", nil
	}
	return "", fmt.Errorf("listing selectors: the kind %q is unknown", kind)
}

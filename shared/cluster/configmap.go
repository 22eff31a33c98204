package cluster

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespace holds what Whittle remembers between invocations.
const Namespace = "whittle-system"

const configMapsPath = "/api/v1/namespaces/" + Namespace + "/configmaps"

// ConfigMap returns the ConfigMap of that name in Whittle's namespace. It returns nil, and no
// error, when there is none.
func (c *Client) ConfigMap(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	var stored corev1.ConfigMap
	err := c.rest.Get().AbsPath(configMapsPath + "/" + name).Do(ctx).Into(&stored)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading configmap %s/%s: %w", Namespace, name, err)
	}
	return &stored, nil
}

// PutConfigMap creates the ConfigMap or, when it carries a resourceVersion, replaces the one that
// was read. It returns IsConflict when another invocation has written it since.
func (c *Client) PutConfigMap(ctx context.Context, object *corev1.ConfigMap) error {
	object.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	object.Namespace = Namespace
	if object.ResourceVersion == "" {
		return c.writeJSON(ctx, http.MethodPost, configMapsPath, object, nil)
	}
	return c.writeJSON(ctx, http.MethodPut, configMapsPath+"/"+object.Name, object, nil)
}

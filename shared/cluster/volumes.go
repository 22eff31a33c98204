package cluster

import (
	"context"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// VolumeName returns the name of the persistent volume that the claim is bound
// to, or "" when it is not bound or gone.
func (c *Client) VolumeName(ctx context.Context, namespace, claim string) (string, error) {
	var stored corev1.PersistentVolumeClaim
	path := "/api/v1/namespaces/" + url.PathEscape(namespace) + "/persistentvolumeclaims/" + url.PathEscape(claim)
	err := c.rest.Get().AbsPath(path).Do(ctx).Into(&stored)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading persistentvolumeclaim %s/%s: %w", namespace, claim, err)
	}
	return stored.Spec.VolumeName, nil
}

package cluster

import (
	"context"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// PersistentVolumeClaims lists every PersistentVolumeClaim.
func (c *Client) PersistentVolumeClaims(ctx context.Context) ([]corev1.PersistentVolumeClaim, error) {
	var list corev1.PersistentVolumeClaimList
	err := c.list(ctx, "/api/v1/persistentvolumeclaims", &list)
	for i := range list.Items {
		list.Items[i].ManagedFields = nil
	}
	return list.Items, err
}

// PersistentVolumes lists every PersistentVolume.
func (c *Client) PersistentVolumes(ctx context.Context) ([]corev1.PersistentVolume, error) {
	var list corev1.PersistentVolumeList
	err := c.list(ctx, "/api/v1/persistentvolumes", &list)
	for i := range list.Items {
		list.Items[i].ManagedFields = nil
	}
	return list.Items, err
}

// StorageClasses lists every StorageClass.
func (c *Client) StorageClasses(ctx context.Context) ([]storagev1.StorageClass, error) {
	var list storagev1.StorageClassList
	err := c.list(ctx, "/apis/storage.k8s.io/v1/storageclasses", &list)
	return list.Items, err
}

// CSINodes lists what the storage drivers report of each node.
func (c *Client) CSINodes(ctx context.Context) ([]storagev1.CSINode, error) {
	var list storagev1.CSINodeList
	err := c.list(ctx, "/apis/storage.k8s.io/v1/csinodes", &list)
	return list.Items, err
}

// VolumeName returns the name of the PersistentVolume that the claim is bound to. It returns "",
// and no error, for a claim that is not bound, or has gone.
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

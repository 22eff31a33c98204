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
	return pages(ctx, c, "/api/v1/persistentvolumeclaims", protobufOrJSON, builtIn(c, &corev1.PersistentVolumeClaimList{},
		func(page *corev1.PersistentVolumeClaimList) []corev1.PersistentVolumeClaim { return page.Items }))
}

// PersistentVolumes lists every PersistentVolume.
func (c *Client) PersistentVolumes(ctx context.Context) ([]corev1.PersistentVolume, error) {
	return pages(ctx, c, "/api/v1/persistentvolumes", protobufOrJSON, builtIn(c, &corev1.PersistentVolumeList{},
		func(page *corev1.PersistentVolumeList) []corev1.PersistentVolume { return page.Items }))
}

// StorageClasses lists every StorageClass.
func (c *Client) StorageClasses(ctx context.Context) ([]storagev1.StorageClass, error) {
	var list storagev1.StorageClassList
	err := c.list(ctx, "/apis/storage.k8s.io/v1/storageclasses", &list)
	return list.Items, err
}

// CSINodes lists what the storage drivers report of each node.
func (c *Client) CSINodes(ctx context.Context) ([]storagev1.CSINode, error) {
	return pages(ctx, c, "/apis/storage.k8s.io/v1/csinodes", protobufOrJSON, builtIn(c, &storagev1.CSINodeList{},
		func(page *storagev1.CSINodeList) []storagev1.CSINode { return page.Items }))
}

// VolumeName returns the name of the PersistentVolume that the claim is bound to. It returns "",
// and no error, for a claim that is not bound, or has gone.
func (c *Client) VolumeName(ctx context.Context, namespace, claim string) (string, error) {
	if !canBeName(claim) {
		return "", nil
	}
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

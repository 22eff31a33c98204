package cluster

import (
	"context"
	"net/url"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const nodeLeasesPath = "/apis/coordination.k8s.io/v1/namespaces/" + corev1.NamespaceNodeLease + "/leases"

// NodeLeases lists the leases by which kubelets say that they live. Each is named after
// its node.
func (c *Client) NodeLeases(ctx context.Context) ([]coordinationv1.Lease, error) {
	var list coordinationv1.LeaseList
	err := c.list(ctx, nodeLeasesPath, &list)
	return list.Items, err
}

// DeleteNodeLease deletes a node's lease; one that is gone is a success.
func (c *Client) DeleteNodeLease(ctx context.Context, name string, uid types.UID) error {
	return c.delete(ctx, nodeLeasesPath+"/"+url.PathEscape(name), uid, nil)
}

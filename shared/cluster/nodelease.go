package cluster

import (
	"context"
	"net/url"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const nodeLeasesPath = "/apis/coordination.k8s.io/v1/namespaces/" + corev1.NamespaceNodeLease + "/leases"

// NodeLeases lists the leases that kubelets renew as heartbeats. Each has the name of its node.
func (c *Client) NodeLeases(ctx context.Context) ([]coordinationv1.Lease, error) {
	var list coordinationv1.LeaseList
	err := c.list(ctx, nodeLeasesPath, &list)
	return list.Items, err
}

// DeleteNodeLease deletes a node's lease. It succeeds for a lease that has gone.
func (c *Client) DeleteNodeLease(ctx context.Context, name string, uid types.UID) error {
	return c.delete(ctx, nodeLeasesPath+"/"+url.PathEscape(name), uid, nil)
}

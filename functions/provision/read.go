package provision

import (
	"context"

	"github.com/whittle-dev/whittle/functions/provision/intent"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// readReplicas reads the pools, and, where one of them keeps spec.replicas, all claims.
func readReplicas(
	ctx context.Context, client *cluster.Client,
) (pools []api.NodePool, claims []api.NodeClaim, err error) {
	if pools, err = client.NodePools(ctx); err != nil {
		return nil, nil, err
	}
	for i := range pools {
		if intent.KeepsReplicas(&pools[i]) {
			claims, err = client.CachedNodeClaims(ctx)
			return pools, claims, err
		}
	}
	return pools, nil, nil
}

// join reads once what every node must know of the cluster.
func (r *pass) join(ctx context.Context) error {
	if r.joined != nil {
		return nil
	}
	joined, err := readJoined(ctx, r.client)
	if err == nil {
		r.joined = &joined
	}
	return err
}

// readJoined reads what every node must know of the cluster.
func readJoined(ctx context.Context, client *cluster.Client) (nodeclass.Cluster, error) {
	dns, err := client.ClusterDNS(ctx)
	if err != nil {
		return nodeclass.Cluster{}, err
	}
	endpoint := client.Endpoint
	return nodeclass.Cluster{
		Name: endpoint.Name, Endpoint: endpoint.URL, CertificateAuthority: endpoint.CertificateAuthority,
		ServiceCIDR: endpoint.ServiceCIDR, DNS: dns,
	}, nil
}

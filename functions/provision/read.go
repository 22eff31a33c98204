package provision

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/whittle-dev/whittle/functions/provision/intent"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// readReplicas reads the pools, and, where one of them keeps spec.replicas, all claims.
func readReplicas(
	ctx context.Context, client *cluster.Client,
) (pools []api.NodePool, claims []api.NodeClaim, err error) {
	if pools, err = client.NodePools(ctx); err != nil {
		return nil, nil, err
	}
	if !slices.ContainsFunc(pools, func(pool api.NodePool) bool { return intent.KeepsReplicas(&pool) }) {
		return pools, nil, nil
	}
	read := func(context.Context) ([]api.NodePool, error) { return pools, nil }
	if pools, err = inventory.PoolsWithOrder(ctx, client, read); err != nil {
		return nil, nil, err
	}
	claims, err = client.CachedNodeClaims(ctx)
	return pools, claims, err
}

// join reads once what every node must know of the cluster.
func (r *pass) join(ctx context.Context) error {
	if r.joined != nil {
		return nil
	}
	joined, err := r.known.read(ctx, r.client, r.now())
	if err == nil {
		r.joined = &joined
	}
	return err
}

// knownFor is how long a warm container believes what nodes must know of the cluster: as long as the
// cluster's endpoint.
const knownFor = 5 * time.Minute

// knownCluster is what a warm container knows for new nodes. The zero value knows nothing.
type knownCluster struct {
	mutex  sync.Mutex
	client *cluster.Client // a client of another endpoint is another one
	at     time.Time
	joined nodeclass.Cluster
}

// read returns what is known, and reads what is not.
func (k *knownCluster) read(ctx context.Context, client *cluster.Client, now time.Time) (nodeclass.Cluster, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.client == client && now.Sub(k.at) < knownFor {
		return k.joined, nil
	}
	joined, err := readJoined(ctx, client)
	if err == nil && joined.DNS != "" { // a cluster that is being set up gets its DNS soon
		k.client, k.at, k.joined = client, now, joined
	}
	return joined, err
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

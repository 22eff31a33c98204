package function

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/whittle-dev/whittle/shared/cluster"
)

// refreshAfter is how long the description of the cluster counts. Its version selects the images of
// new nodes, and may change while a container lives.
const refreshAfter = 5 * time.Minute

// cacheShare is the part of a function's memory that a client may keep objects in from one invocation
// to the next. A pass has the same objects in memory in any case, so that the cache adds a part of
// its size to the peak.
const cacheShare = 0.3

// Connection connects to the function's cluster. It reads the endpoint from EKS every few minutes.
type Connection struct {
	// Karpenter are the service accounts whose pods may be Karpenter.
	Karpenter []cluster.ServiceAccount

	name   string
	config aws.Config
	deps   Deps
	dryRun bool

	now func() time.Time

	mutex  sync.Mutex
	client *cluster.Client
	read   time.Time // when the client's endpoint was read

	leader *cluster.Leader // the Karpenter that leads, or nil
	asked  time.Time       // when the leader was read
}

// Connection prepares a connection to the cluster of that name. It sends nothing yet.
func (d Deps) Connection(config aws.Config, name string) *Connection {
	return &Connection{
		Karpenter: cluster.KarpenterAccounts(), name: name, config: config, deps: d, dryRun: d.DryRun(),
		now: d.wallClock(),
	}
}

// Client returns the client of the cluster. It has a cache, which lives until the endpoint changes.
// When the endpoint cannot be read again, it returns the client of the last one. An error is that of
// the first reading, which the next invocation repeats.
func (c *Connection) Client(ctx context.Context) (*cluster.Client, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.client != nil && c.now().Sub(c.read) < refreshAfter {
		return c.client, nil
	}
	endpoint, err := cluster.Find(ctx, eks.NewFromConfig(c.config), c.name)
	switch {
	case err != nil && c.client != nil:
		slog.WarnContext(ctx, "the cluster is not read again", "last", c.read, "error", err)
		return c.client, nil
	case err != nil:
		return nil, err
	case c.client != nil && reflect.DeepEqual(endpoint, c.client.Endpoint):
		c.read = c.now()
		return c.client, nil
	}
	tokens := cluster.NewTokenSource(c.name, c.config.Region, c.config.Credentials, c.deps.Clock())
	client, err := cluster.New(endpoint, tokens, c.deps.Transport)
	if err != nil {
		return nil, fmt.Errorf("connecting to cluster %q: %w", c.name, err)
	}
	if c.dryRun {
		client = client.DryRun()
	}
	client = client.WithCache(cluster.NewCache(int(cacheShare*float64(memorySize(c.deps.getenv))), c.now))
	c.client, c.read = client, c.now()
	return client, nil
}

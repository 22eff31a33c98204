package function

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/whittle-dev/whittle/shared/cluster"
)

// refreshAfter is how long what EKS says of the cluster is believed: its version
// names the images of new nodes, and changes while a container lives on.
const refreshAfter = 5 * time.Minute

// Connection reaches the function's cluster. The endpoint is read from EKS every
// few minutes, or from CLUSTER_ENDPOINT and CLUSTER_CA_BUNDLE, which lets a
// function in a VPC do without an endpoint for EKS's own API.
type Connection struct {
	name   string
	config aws.Config
	dryRun bool

	now func() time.Time

	mutex  sync.Mutex
	client *cluster.Client
	read   time.Time // when the client's endpoint was

	leader *cluster.Leader // who acts for Karpenter
	asked  time.Time       // when that was
}

// NewConnection prepares the way to the cluster; nothing is sent yet.
func NewConnection(config aws.Config, name string) *Connection {
	return &Connection{name: name, config: config, dryRun: DryRun(), now: time.Now}
}

// Client returns the client of the cluster. A failure is not remembered: the
// next invocation tries again.
func (c *Connection) Client(ctx context.Context) (*cluster.Client, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.client != nil && c.now().Sub(c.read) < refreshAfter {
		return c.client, nil
	}
	endpoint, err := c.endpoint(ctx)
	switch {
	case err != nil && c.client != nil:
		slog.WarnContext(ctx, "the cluster is taken for what it was", "of", c.read, "error", err)
		return c.client, nil
	case err != nil:
		return nil, err
	case c.client != nil && reflect.DeepEqual(endpoint, c.client.Endpoint):
		c.read = c.now()
		return c.client, nil
	}
	client, err := cluster.New(endpoint, cluster.NewTokenSource(c.name, c.config.Region, c.config.Credentials))
	if err != nil {
		return nil, fmt.Errorf("connecting to cluster %q: %w", c.name, err)
	}
	if c.dryRun {
		client = client.DryRun()
	}
	c.client, c.read = client, c.now()
	return client, nil
}

func (c *Connection) endpoint(ctx context.Context) (cluster.Endpoint, error) {
	url, bundle := os.Getenv("CLUSTER_ENDPOINT"), os.Getenv("CLUSTER_CA_BUNDLE")
	if url != "" && bundle != "" {
		return cluster.Endpoint{Name: c.name, URL: url, CertificateAuthority: []byte(bundle)}, nil
	}
	return cluster.Find(ctx, eks.NewFromConfig(c.config), c.name)
}

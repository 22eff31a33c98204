package function

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/whittle-dev/whittle/shared/cluster"
)

// Connection reaches the function's cluster. The endpoint is read from EKS once
// a container, or from CLUSTER_ENDPOINT and CLUSTER_CA_BUNDLE, which lets a
// function in a VPC do without an endpoint for EKS's own API.
type Connection struct {
	name   string
	config aws.Config

	mutex  sync.Mutex
	client *cluster.Client
}

// NewConnection prepares the way to the cluster; nothing is sent yet.
func NewConnection(config aws.Config, name string) *Connection {
	return &Connection{name: name, config: config}
}

// Client returns the client of the cluster. A failure is not remembered: the
// next invocation tries again.
func (c *Connection) Client(ctx context.Context) (*cluster.Client, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.client != nil {
		return c.client, nil
	}
	endpoint, err := c.endpoint(ctx)
	if err != nil {
		return nil, err
	}
	client, err := cluster.New(endpoint, cluster.NewTokenSource(c.name, c.config.Region, c.config.Credentials))
	if err != nil {
		return nil, fmt.Errorf("connecting to cluster %q: %w", c.name, err)
	}
	c.client = client
	return client, nil
}

func (c *Connection) endpoint(ctx context.Context) (cluster.Endpoint, error) {
	url, bundle := os.Getenv("CLUSTER_ENDPOINT"), os.Getenv("CLUSTER_CA_BUNDLE")
	if url != "" && bundle != "" {
		return cluster.Endpoint{Name: c.name, URL: url, CertificateAuthority: []byte(bundle)}, nil
	}
	return cluster.Find(ctx, eks.NewFromConfig(c.config), c.name)
}

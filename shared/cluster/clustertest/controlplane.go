package clustertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/whittle-dev/whittle/functions/install/manifests"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/testdata/lab/kubernetes"
)

// establishLimit is how long the API server may take to serve a new kind.
const establishLimit = 2 * time.Minute

// ControlPlane is a control plane for the tests of one package. TestMain owns and closes it.
type ControlPlane struct {
	*kubernetes.ControlPlane
	directory string
}

// Start starts a control plane without state. The first start on a machine builds it, which takes
// minutes.
func Start(ctx context.Context) (*ControlPlane, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	binary, err := kubernetes.Build(ctx, root, os.Stderr)
	if err != nil {
		return nil, err
	}
	directory, err := os.MkdirTemp("", "whittle-control-plane-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for a control plane: %w", err)
	}
	started, err := kubernetes.Start(ctx, kubernetes.Options{Binary: binary, Directory: directory})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(directory))
	}
	return &ControlPlane{ControlPlane: started, directory: directory}, nil
}

// Close stops the control plane and removes its state.
func (c *ControlPlane) Close() error {
	return errors.Join(c.Stop(), os.RemoveAll(c.directory))
}

// Run is the body of a TestMain. It starts a control plane, prepares it, runs the tests, and
// returns the exit code.
func Run(m *testing.M, prepare func(*ControlPlane) error) int {
	controlPlane, err := Start(context.Background())
	if err == nil {
		err = prepare(controlPlane)
	}
	code := 1
	if err == nil {
		code = m.Run()
	}
	if controlPlane != nil {
		err = errors.Join(err, controlPlane.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "control plane for the tests:", err)
		return 1
	}
	return code
}

// Client returns a client with all rights.
func (c *ControlPlane) Client() (*cluster.Client, error) {
	return c.client(c.RESTConfig())
}

// ClientOf returns a client with the rights of the groups, such as whittle:provision.
func (c *ControlPlane) ClientOf(groups ...string) (*cluster.Client, error) {
	config := c.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: "test", Groups: groups}
	return c.client(config)
}

func (c *ControlPlane) client(config *rest.Config) (*cluster.Client, error) {
	config.Wrap(Consistent)
	endpoint := cluster.Endpoint{
		Name: "prod", URL: c.Endpoint, CertificateAuthority: c.CertificateAuthority, ServiceCIDR: c.ServiceCIDR,
	}
	return cluster.NewForConfig(endpoint, config)
}

// Install applies what the function install applies: definitions, namespace and rights, and the admission
// policies so that they refuse.
func (c *ControlPlane) Install(ctx context.Context) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	definitions, err := manifests.CRDs()
	if err != nil {
		return err
	}
	namespace, err := manifests.Namespace()
	if err != nil {
		return err
	}
	rights, err := manifests.RBAC()
	if err != nil {
		return err
	}
	policies, err := manifests.Admission(manifests.ModeDeny)
	if err != nil {
		return err
	}
	objects := slices.Concat(definitions, []unstructured.Unstructured{namespace}, rights, policies)
	for i := range objects {
		if err := client.Apply(ctx, &objects[i]); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, establishLimit)
	defer cancel()
	for i := range definitions {
		if err := established(ctx, client, &definitions[i]); err != nil {
			return err
		}
	}
	return nil
}

func established(ctx context.Context, client *cluster.Client, definition *unstructured.Unstructured) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		there, err := client.CustomResourceDefinition(ctx, definition.GetName())
		if err == nil && there != nil && there.Established {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("customresourcedefinition %q is not established after %s: %v, %w",
				definition.GetName(), establishLimit, there, err)
		}
	}
}

// moduleRoot is the folder of go.mod above the folder of the package under test.
func moduleRoot() (string, error) {
	directory, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(directory, "go.mod")); err == nil {
			return directory, nil
		}
		parent := filepath.Dir(directory)
		if parent == directory {
			return "", errors.New("there is no go.mod above the folder of the tests")
		}
		directory = parent
	}
}

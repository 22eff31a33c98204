package cluster

import (
	"context"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/api/legacy"
)

// Provisioners lists every Provisioner. It returns none for a cluster that does not know the kind.
func (c *Client) Provisioners(ctx context.Context) ([]legacy.Provisioner, error) {
	var list legacy.ProvisionerList
	err := c.readJSON(ctx, legacy.ProvisionersPath, &list, versionParameter, cachedVersion)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return list.Items, err
}

// AWSNodeTemplates lists every AWSNodeTemplate. It returns none for a cluster that does not know
// the kind.
func (c *Client) AWSNodeTemplates(ctx context.Context) ([]legacy.AWSNodeTemplate, error) {
	var list legacy.AWSNodeTemplateList
	err := c.readJSON(ctx, legacy.AWSNodeTemplatesPath, &list, versionParameter, cachedVersion)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return list.Items, err
}

// PatchProvisionerStatus merges the patch into the Provisioner's status subresource. It returns
// IsGone and IsConflict like PatchNode.
func (c *Client) PatchProvisionerStatus(ctx context.Context, name string, patch map[string]any) error {
	path := legacy.ProvisionersPath + "/" + url.PathEscape(name) + statusSubpath
	return c.writeJSON(ctx, http.MethodPatch, path, patch, nil)
}

// PatchAWSNodeTemplateStatus merges the patch into the template's status subresource. It returns
// IsGone and IsConflict like PatchNode.
func (c *Client) PatchAWSNodeTemplateStatus(ctx context.Context, name string, patch map[string]any) error {
	path := legacy.AWSNodeTemplatesPath + "/" + url.PathEscape(name) + statusSubpath
	return c.writeJSON(ctx, http.MethodPatch, path, patch, nil)
}

// WriteNodePool creates the pool, or replaces the one that was read, by its resourceVersion. It
// returns IsConflict when another pool of the name exists or the pool has changed since.
func (c *Client) WriteNodePool(ctx context.Context, pool *api.NodePool) error {
	return c.write(ctx, nodePoolsPath, pool.Name, pool.ResourceVersion, pool)
}

// WriteNodeClass creates or replaces the class like WriteNodePool.
func (c *Client) WriteNodeClass(ctx context.Context, class *api.EC2NodeClass) error {
	return c.write(ctx, nodeClassesPath, class.Name, class.ResourceVersion, class)
}

func (c *Client) write(ctx context.Context, collection, name, version string, object any) error {
	if version == "" {
		return c.writeJSON(ctx, http.MethodPost, collection, object, nil)
	}
	return c.writeJSON(ctx, http.MethodPut, collection+"/"+url.PathEscape(name), object, nil)
}

// KubernetesVersion is the cluster's minor version, such as 1.36; empty when not read from EKS.
func (c *Client) KubernetesVersion() string { return c.Endpoint.Version }

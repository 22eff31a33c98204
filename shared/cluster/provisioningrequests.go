package cluster

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/whittle-dev/whittle/shared/api"
)

// ProvisioningRequests lists every ProvisioningRequest. It returns none for a cluster that does not
// know the kind.
func (c *Client) ProvisioningRequests(ctx context.Context) ([]api.ProvisioningRequest, error) {
	var list api.ProvisioningRequestList
	err := c.readJSON(ctx, api.ProvisioningRequestsPath, &list, versionParameter, cachedVersion)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return list.Items, err
}

// PatchProvisioningRequestStatus writes the status of the request as it was read. It returns IsGone
// and IsConflict like PatchNode.
func (c *Client) PatchProvisioningRequestStatus(
	ctx context.Context, request *api.ProvisioningRequest, status api.ProvisioningRequestStatus,
) error {
	path := fmt.Sprintf("/apis/%s/namespaces/%s/%s/%s", api.ProvisioningRequestAPIVersion,
		url.PathEscape(request.Namespace), api.ProvisioningRequestResource, url.PathEscape(request.Name))
	return c.writeJSON(ctx, http.MethodPatch, path+statusSubpath, map[string]any{
		"metadata": map[string]any{"resourceVersion": request.ResourceVersion},
		"status":   status,
	}, nil)
}

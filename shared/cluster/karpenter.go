package cluster

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"unsafe"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster/lean"
)

const (
	nodePoolsPath    = "/apis/karpenter.sh/v1/nodepools"
	nodeClaimsPath   = "/apis/karpenter.sh/v1/nodeclaims"
	nodeClassesPath  = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"
	statusSubpath    = "/status"
	cachedVersion    = "0"
	versionParameter = "resourceVersion"
)

// NodePools lists every NodePool.
func (c *Client) NodePools(ctx context.Context) ([]api.NodePool, error) {
	var list api.NodePoolList
	err := c.readJSON(ctx, nodePoolsPath, &list, versionParameter, cachedVersion)
	return list.Items, err
}

// PatchNodePool merges the patch into the NodePool. It returns IsGone and IsConflict like PatchNode.
func (c *Client) PatchNodePool(ctx context.Context, name string, patch map[string]any) error {
	return c.writeJSON(ctx, http.MethodPatch, nodePoolsPath+"/"+url.PathEscape(name), patch, nil)
}

// PatchNodePoolStatus merges the patch into the NodePool's status subresource. It returns IsGone
// and IsConflict like PatchNode.
func (c *Client) PatchNodePoolStatus(ctx context.Context, name string, patch map[string]any) error {
	return c.writeJSON(ctx, http.MethodPatch, nodePoolsPath+"/"+url.PathEscape(name)+statusSubpath, patch, nil)
}

// NodeClasses lists every EC2NodeClass.
func (c *Client) NodeClasses(ctx context.Context) ([]api.EC2NodeClass, error) {
	var list api.EC2NodeClassList
	err := c.readJSON(ctx, nodeClassesPath, &list, versionParameter, cachedVersion)
	return list.Items, err
}

// PatchNodeClass merges the patch into the EC2NodeClass. It returns IsGone and IsConflict like
// PatchNode.
func (c *Client) PatchNodeClass(ctx context.Context, name string, patch map[string]any) error {
	return c.writeJSON(ctx, http.MethodPatch, nodeClassesPath+"/"+url.PathEscape(name), patch, nil)
}

// PatchNodeClassStatus merges the patch into the EC2NodeClass's status subresource, and returns the
// class. It returns IsGone and IsConflict like PatchNode.
func (c *Client) PatchNodeClassStatus(
	ctx context.Context, name string, patch map[string]any,
) (*api.EC2NodeClass, error) {
	var stored api.EC2NodeClass
	path := nodeClassesPath + "/" + url.PathEscape(name) + statusSubpath
	if err := c.writeJSON(ctx, http.MethodPatch, path, patch, &stored); err != nil {
		return nil, err
	}
	return &stored, nil
}

// NodeOverlays lists every NodeOverlay. It returns none for a cluster that does not know the kind.
func (c *Client) NodeOverlays(ctx context.Context) ([]api.NodeOverlay, error) {
	var list api.NodeOverlayList
	err := c.readJSON(ctx, api.NodeOverlaysPath, &list, versionParameter, cachedVersion)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return list.Items, err
}

// PatchNodeOverlayStatus merges the patch into the NodeOverlay's status subresource. It returns
// IsGone and IsConflict like PatchNode.
func (c *Client) PatchNodeOverlayStatus(ctx context.Context, name string, patch map[string]any) error {
	return c.writeJSON(ctx, http.MethodPatch, api.NodeOverlaysPath+"/"+url.PathEscape(name)+statusSubpath, patch, nil)
}

// NodeClaims lists every NodeClaim. It does not use the watch cache: the pods of a claim that was
// just written and is not listed would be planned for again. Claims may share memory like nodes.
func (c *Client) NodeClaims(ctx context.Context) ([]api.NodeClaim, error) {
	return read(ctx, c, nodeClaimKind())
}

func nodeClaimKind() kind[api.NodeClaim] {
	return kind[api.NodeClaim]{
		path: nodeClaimsPath, accept: runtime.ContentTypeJSON,
		slot:     func(cache *Cache) *slot[api.NodeClaim] { return &cache.claims },
		identity: func(claim *api.NodeClaim) *metav1.ObjectMeta { return &claim.ObjectMeta },
		size:     func(claim *api.NodeClaim, encoded int) int { return int(unsafe.Sizeof(*claim)) + 2*encoded },
		decoder:  func() decoding[api.NodeClaim] { return decodeClaims },
		again: &cutting[api.NodeClaim]{
			read: func(cache *Cache) *map[string]*readObject[api.NodeClaim] { return &cache.claimsRead },
			cut: func(body []byte) (meta metav1.ListMeta, items [][]byte, ok bool) {
				meta, encoded, err := itemsOf(body)
				for _, item := range encoded {
					items = append(items, item)
				}
				return meta, items, err == nil
			},
			decode: func(item []byte, claim *api.NodeClaim) error {
				err := decode(item, claim)
				claim.ManagedFields = nil
				return err
			},
		},
	}
}

func decodeClaims(body []byte) ([]api.NodeClaim, metav1.ListMeta, error) {
	var page api.NodeClaimList
	err := decode(body, &page)
	for i := range page.Items {
		page.Items[i].ManagedFields = nil
	}
	return page.Items, page.ListMeta, err
}

// SelectNodeClaims lists the NodeClaims that the selector matches. Cached ones may be a moment old,
// and a busy API server lists them many times faster.
func (c *Client) SelectNodeClaims(
	ctx context.Context, selector labels.Selector, cached bool,
) ([]api.NodeClaim, error) {
	parameters := []string{"labelSelector", selector.String()}
	if cached {
		parameters = append(parameters, versionParameter, cachedVersion)
	}
	var list api.NodeClaimList
	err := c.readJSON(ctx, nodeClaimsPath, &list, parameters...)
	return list.Items, err
}

// HasNodeClaims reports whether the watch cache has a NodeClaim. It decodes none.
func (c *Client) HasNodeClaims(ctx context.Context) (bool, error) {
	request := c.rest.Get().AbsPath(nodeClaimsPath).SetHeader("Accept", identitiesOnly)
	if !c.consistent {
		request = request.Param(versionParameter, cachedVersion)
	}
	body, err := request.Do(ctx).Raw()
	has := false
	if err == nil {
		_, err = lean.Identities(body, func(_, _, _ []byte) { has = true })
	}
	if err != nil {
		return false, fmt.Errorf("looking for nodeclaims: %w", err)
	}
	return has, nil
}

// CachedNodeClaims lists every NodeClaim from the watch cache.
func (c *Client) CachedNodeClaims(ctx context.Context) ([]api.NodeClaim, error) {
	var list api.NodeClaimList
	err := c.readJSON(ctx, nodeClaimsPath, &list, versionParameter, cachedVersion)
	return list.Items, err
}

// CreateNodeClaim creates the claim and returns it as stored. It returns IsConflict when a claim of
// that name exists.
func (c *Client) CreateNodeClaim(ctx context.Context, claim *api.NodeClaim) (*api.NodeClaim, error) {
	var stored api.NodeClaim
	if err := c.writeJSON(ctx, http.MethodPost, nodeClaimsPath, claim, &stored); err != nil {
		return nil, err
	}
	return &stored, nil
}

// PatchNodeClaim merges the patch into the claim's metadata, and returns the claim. It returns
// IsGone and IsConflict like PatchNode.
func (c *Client) PatchNodeClaim(ctx context.Context, name string, patch map[string]any) (*api.NodeClaim, error) {
	var stored api.NodeClaim
	if err := c.writeJSON(ctx, http.MethodPatch, nodeClaimsPath+"/"+url.PathEscape(name), patch, &stored); err != nil {
		return nil, err
	}
	return &stored, nil
}

// PatchNodeClaimStatus merges the patch into the claim's status subresource, and returns the claim.
// It returns IsGone and IsConflict like PatchNode.
func (c *Client) PatchNodeClaimStatus(
	ctx context.Context, name string, patch map[string]any,
) (*api.NodeClaim, error) {
	var stored api.NodeClaim
	path := nodeClaimsPath + "/" + url.PathEscape(name) + statusSubpath
	if err := c.writeJSON(ctx, http.MethodPatch, path, patch, &stored); err != nil {
		return nil, err
	}
	return &stored, nil
}

// DeleteNodeClaim deletes the claim. Its finalizer holds it until its node is drained and its
// instance has ended. DeleteNodeClaim succeeds for a claim that has gone.
func (c *Client) DeleteNodeClaim(ctx context.Context, name string, uid types.UID) error {
	return c.delete(ctx, nodeClaimsPath+"/"+url.PathEscape(name), uid, nil)
}

// DeleteUnchangedNodeClaim deletes the claim like DeleteNodeClaim, if it is as it was read. It
// returns IsConflict when the claim has changed since, or when another one has its name.
func (c *Client) DeleteUnchangedNodeClaim(ctx context.Context, claim *api.NodeClaim) error {
	err := c.deleteWith(ctx, nodeClaimsPath+"/"+url.PathEscape(claim.Name), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &claim.UID, ResourceVersion: &claim.ResourceVersion},
	})
	return ignoreGone(err)
}

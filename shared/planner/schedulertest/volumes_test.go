package schedulertest

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/whittle-dev/whittle/shared/api"
)

// selectedNodeAnnotation names the node of a claim's first consumer. The scheduler sets it for the
// provisioner.
const selectedNodeAnnotation = "volume.kubernetes.io/selected-node"

// createVolumes creates the claims, and the volumes of bound claims. It waits until the controller
// has bound them.
func (c *cluster) createVolumes(ctx context.Context, groups []volume) error {
	bound := 0
	for i := range groups {
		group := &groups[i]
		for _, claim := range group.claims() {
			if group.bound() {
				bound++
				if err := c.create(ctx, volumes, "", group.volume(claim)); err != nil {
					return err
				}
			}
			if err := c.create(ctx, claims, claim.Namespace, claim); err != nil {
				return err
			}
		}
	}
	if bound == 0 {
		return nil
	}
	return wait(ctx, "the claims were bound to their volumes", func(ctx context.Context) (bool, error) {
		var list corev1.PersistentVolumeClaimList
		if err := c.list(ctx, claims, &list); err != nil {
			return false, err
		}
		left := bound
		for i := range list.Items {
			if list.Items[i].Status.Phase == corev1.ClaimBound {
				left--
			}
		}
		return left == 0, nil
	})
}

// provision acts as the provisioner of the storage driver. A claim whose consumer has a node gets a
// volume in the node's zone.
func (c *cluster) provision(ctx context.Context) error {
	var list corev1.PersistentVolumeClaimList
	if err := c.list(ctx, claims, &list); err != nil {
		return err
	}
	for i := range list.Items {
		claim := &list.Items[i]
		selected := claim.Annotations[selectedNodeAnnotation]
		if selected == "" || claim.Spec.VolumeName != "" {
			continue
		}
		var node corev1.Node
		if err := c.rest.Get().AbsPath(nodes.path("", selected)).Do(ctx).Into(&node); err != nil {
			return err
		}
		made := volumeFor(claim, api.LabelTopologyZoneEBS, node.Labels[api.LabelTopologyZoneEBS])
		if err := c.create(ctx, volumes, "", made); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

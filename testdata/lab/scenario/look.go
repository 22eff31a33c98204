package scenario

import (
	"context"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/laws"
)

// Look reads what the laws see. The instances come last, and pods come before nodes.
func (c *Client) Look(ctx context.Context, instances func() []ec2.Instance) (*laws.World, error) {
	world := &laws.World{Now: time.Now()}
	claims, err := c.NodeClaims(ctx)
	if err != nil {
		return nil, err
	}
	world.Claims = laws.Pointers(claims)
	pools, err := list[api.NodePool](ctx, c, schema.GroupVersionResource{
		Group: "karpenter.sh", Version: "v1", Resource: "nodepools",
	})
	if err != nil {
		return nil, err
	}
	world.Pools = laws.Pointers(pools)
	classes, err := list[api.EC2NodeClass](ctx, c, schema.GroupVersionResource{
		Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses",
	})
	if err != nil {
		return nil, err
	}
	world.Classes = laws.Pointers(classes)
	pods, err := c.Pods(ctx, metav1.NamespaceDefault, "")
	if err != nil {
		return nil, err
	}
	world.Pods = laws.Pointers(pods)
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	world.Nodes = laws.Pointers(nodes)
	volumes, err := c.Core.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	world.Volumes = laws.Pointers(volumes.Items)
	attachments, err := c.Core.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	world.Attachments, world.Instances = laws.Pointers(attachments.Items), instances()
	return world, nil
}

// KeepsLaws waits until the world keeps the laws of a world at rest.
func (s Setup) KeepsLaws(ctx context.Context) error {
	return Until(ctx, patience, "the world to keep its laws", func(ctx context.Context) (bool, string, error) {
		seen, err := s.Client.Look(ctx, s.World.Instances)
		if err != nil {
			return false, "", err
		}
		wrong := laws.Broken(seen, slices.Concat(laws.Always(), laws.AtRest()))
		return len(wrong) == 0, strings.Join(wrong, "; "), nil
	})
}

package lifecycle

import (
	"context"
	"fmt"
	"sync"
	"time"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
)

// contents reads the pods and volumes of nodes that are drained. It reads those of a node when the
// pass comes to it. In a storm a pass comes to a part of the nodes only. The attachments of
// volumes are read once for all nodes.
type contents struct {
	client kubernetes
	now    func() time.Time
	pods   *nodePods

	once        sync.Once
	attachments []storagev1.VolumeAttachment
	err         error
}

// drained is the number of claims whose pods and volumes are read.
func drained(views []nodeclaim.View) int {
	count := 0
	for i := range views {
		if needsContents(&views[i]) {
			count++
		}
	}
	return count
}

// read adds to the view what is on its node, if that decides anything. After an error the node must
// not be worked on, because it would seem to be empty.
func (c *contents) read(ctx context.Context, view *nodeclaim.View) error {
	if !needsContents(view) {
		return nil
	}
	c.once.Do(func() { c.attachments, c.err = c.client.VolumeAttachments(ctx) })
	if c.err != nil {
		return c.err
	}
	return c.complete(ctx, view)
}

// needsContents reports whether the pods and volumes of the claim's node decide what is done.
func needsContents(view *nodeclaim.View) bool {
	return len(view.Nodes) > 0 && view.WantsPods()
}

// complete adds the pods, and the volumes that are attached.
func (c *contents) complete(ctx context.Context, view *nodeclaim.View) error {
	for _, node := range view.Nodes {
		pods, at, err := c.pods.on(ctx, node.Name)
		if err != nil {
			return fmt.Errorf("draining node %q: %w", node.Name, err)
		}
		view.Pods = append(view.Pods, pods...)
		if view.PodsRead.IsZero() || at.Before(view.PodsRead) {
			view.PodsRead = at
		}
		for _, attachment := range c.attachments {
			if attachment.Spec.NodeName == node.Name {
				view.Attachments = append(view.Attachments, attachment)
			}
		}
	}
	if len(view.Attachments) == 0 {
		return nil
	}
	view.HeldVolumes = map[string]bool{}
	for _, held := range nodeclaim.HeldClaims(view.Pods, c.now()) {
		name, err := c.client.VolumeName(ctx, held.Namespace, held.Name)
		if err != nil {
			return err
		}
		view.HeldVolumes[name] = true
	}
	return nil
}

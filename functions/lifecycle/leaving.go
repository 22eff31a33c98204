package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
)

// leaving reads the pods and volumes of nodes that leave, of each when it is dealt with: in a storm a
// pass comes to some of them only. Attachments, and how new the pods have to be, it asks for once.
type leaving struct {
	client kubernetes
	now    func() time.Time
	count  int // of the nodes

	once        sync.Once
	attachments []storagev1.VolumeAttachment
	version     string
	err         error
}

func (p *performer) leaving(views []nodeclaim.View) *leaving {
	l := &leaving{client: p.client, now: p.now}
	for i := range views {
		if isLeaving(&views[i]) {
			l.count++
		}
	}
	return l
}

// read gives the view what is on its node, if that decides anything. After an error the node is
// not to be looked at: it would seem to be empty.
func (l *leaving) read(ctx context.Context, view *nodeclaim.View) error {
	if !isLeaving(view) {
		return nil
	}
	l.once.Do(func() {
		if l.attachments, l.err = l.client.VolumeAttachments(ctx); l.err == nil && l.count > 1 {
			l.version, l.err = l.client.PodsVersion(ctx)
		}
	})
	if l.err != nil {
		return l.err
	}
	return readPods(ctx, l.client, view, l.version, l.attachments, l.now())
}

// isLeaving tells whether what is on the claim's node decides what is done.
func isLeaving(view *nodeclaim.View) bool {
	return view.Claim.DeletionTimestamp != nil && len(view.Nodes) > 0 && view.WantsPods()
}

func readPods(ctx context.Context, client kubernetes, view *nodeclaim.View, version string, attachments []storagev1.VolumeAttachment, now time.Time) error {
	for _, node := range view.Nodes {
		pods, err := client.PodsOnNode(ctx, node.Name, version)
		if err != nil {
			return fmt.Errorf("draining node %q: %w", node.Name, err)
		}
		for i := range pods {
			view.Pods = append(view.Pods, &pods[i])
		}
		for _, attachment := range attachments {
			if attachment.Spec.NodeName == node.Name {
				view.Attachments = append(view.Attachments, attachment)
			}
		}
	}
	if len(view.Attachments) == 0 {
		return nil
	}
	view.HeldVolumes = map[string]bool{}
	for _, held := range nodeclaim.HeldClaims(view.Pods, now) {
		name, err := client.VolumeName(ctx, held.Namespace, held.Name)
		if err != nil {
			return err
		}
		view.HeldVolumes[name] = true
	}
	return nil
}

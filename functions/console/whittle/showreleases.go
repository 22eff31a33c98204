package main

import (
	"context"
	"time"

	"github.com/whittle-dev/whittle/functions/console/releases"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// showReleases writes on the pools why drift waits for their releases. Files have no releases.
func (s *source) showReleases(ctx context.Context, o *snapshot.Objects, now time.Time) error {
	if s.client == nil {
		return nil
	}
	known, err := releases.Read(ctx, s.client)
	if err != nil {
		return err
	}
	states := known.Judge(releases.Objects{
		Pools: o.NodePools, Classes: o.NodeClasses, Claims: o.NodeClaims, Nodes: o.Nodes, Pods: o.Pods,
	}, now)
	releases.Show(o.NodePools, states)
	return nil
}

package api

import (
	"time"

	"github.com/whittle-dev/whittle/shared/freeze"
)

// Frozen is the freeze that holds disruption of the pool's nodes for the reason, or nil.
func (p *NodePool) Frozen(reason DisruptionReason, now time.Time) *freeze.Freeze {
	if !reason.IsVoluntary() {
		return nil
	}
	return p.Freezes.Of(freeze.Disruptions, p.Name, now)
}

// LaunchesFrozen is the freeze that holds launches of the pool's nodes, or nil.
func (p *NodePool) LaunchesFrozen(now time.Time) *freeze.Freeze {
	return p.Freezes.Of(freeze.Launches, p.Name, now)
}

package disrupt

import (
	"context"
	"log/slog"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/shared/sight"
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

// reader reads past the watch cache, because deletions are decided on what it reads. It asks ARC for the
// shifted zones.
type reader struct {
	sight.Cluster
	shifts *zonalshift.Source // nil where zonal shifts are off
}

// Unavailable has the shifted zones of now.
func (r reader) Unavailable(ctx context.Context) (*catalog.Unavailable, error) {
	unavailable, err := r.Cluster.Unavailable(ctx)
	if err == nil && r.shifts != nil {
		unavailable.Shifted = r.shifts.Known(ctx, r.Client)
	}
	return unavailable, err
}

// Shifted returns the shifted zones of now.
func (r reader) Shifted(ctx context.Context) (map[string]time.Time, error) {
	return r.shifts.Known(ctx, r.Client), nil
}

// simulate returns what the planner sees when the nodes of the claims leave.
func (p *pass) simulate(ctx context.Context, leaving ...*api.NodeClaim) (*plan.Snapshot, error) {
	return p.fleet.Without(ctx, leaving, p.now())
}

// solve plans, and logs what the plan leaves out because of a defect.
func solve(ctx context.Context, s *plan.Snapshot) *plan.Plan {
	decided := planning.Solve(s)
	if fault := decided.Fault(); fault != "" {
		slog.ErrorContext(ctx, "the plan leaves pods out because of a defect", "error", fault)
	}
	return decided
}

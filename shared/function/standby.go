package function

import (
	"context"
	"log/slog"
	"time"

	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/metrics"
)

// leaderFor is how long the answer to "which Karpenter leads" is believed, so that a warm container
// reads it once a tick.
const leaderFor = 5 * time.Second

// Standby makes a handler that does nothing while Karpenter acts in the cluster, because two
// autoscalers must not act on the same pools. It logs why, and acknowledges the event: Karpenter
// sees the same pods and the same events. When the Lease cannot be read, the handler returns the
// error, and the event comes back. A dry run writes nothing and therefore never stands by.
func Standby[In, Out any](
	connection *Connection, recorder *metrics.Recorder, handler Handler[In, Out],
) Handler[In, Out] {
	return func(ctx context.Context, event In) (Out, error) {
		if connection.dryRun {
			return handler(ctx, event)
		}
		var nothing Out
		leader, err := connection.KarpenterLeader(ctx)
		if err != nil {
			return nothing, err
		}
		if leader != nil {
			slog.WarnContext(ctx, "standby: Karpenter acts in this cluster; scale its Deployment to 0 to let Whittle act",
				"karpenter", leader.String())
			recorder.Write(metrics.Count(metrics.Standby, 1))
			return nothing, nil
		}
		return handler(ctx, event)
	}
}

// KarpenterLeader returns the Karpenter that leads in the cluster, or nil when none does. The
// answer is at most leaderFor old. An error is that of reading the cluster or its Leases.
func (c *Connection) KarpenterLeader(ctx context.Context) (*cluster.Leader, error) {
	client, err := c.Client(ctx)
	if err != nil {
		return nil, err
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := c.now()
	if !c.asked.IsZero() && now.Sub(c.asked) < leaderFor {
		return c.leader, nil
	}
	leader, err := client.KarpenterLeader(ctx, now)
	if err != nil {
		return nil, err
	}
	c.leader, c.asked = leader, now
	return leader, nil
}

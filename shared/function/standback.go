package function

import (
	"context"
	"log/slog"
	"time"

	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/metrics"
)

// leaderFor is how long it is believed who acts for Karpenter, and that nobody does: a warm container asks once a tick.
const leaderFor = 5 * time.Second

// StandBack makes a handler that does nothing, and says why, while Karpenter acts in the cluster: two autoscalers never
// act on the same pools. What wakes it is acknowledged, since Karpenter sees the same pods and the same events. Where
// nobody can tell, the handler fails and what woke it comes back. In a dry run nothing is written, so that there is
// nothing to stand back from.
func StandBack[In, Out any](connection *Connection, recorder *metrics.Recorder, handler Handler[In, Out]) Handler[In, Out] {
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
			slog.WarnContext(ctx, "standing back: Karpenter acts in this cluster, and of two autoscalers one does: scale its Deployment to 0 to let Whittle act", "karpenter", leader.String())
			recorder.Write(metrics.Count(metrics.StoodBack, 1))
			return nothing, nil
		}
		return handler(ctx, event)
	}
}

// KarpenterLeader returns who acts for Karpenter in the cluster, or nil when nobody does, as it was a few seconds ago at
// the latest.
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

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

// KarpenterAccounts reads the service accounts whose pods may be Karpenter. Without the variable
// they are those of Karpenter's guides.
func KarpenterAccounts(settings *Settings) []cluster.ServiceAccount {
	const name = "KARPENTER_SERVICE_ACCOUNTS"
	accounts := Parsed(settings, name, "write NAMESPACE/NAME, such as kube-system/karpenter, with commas between several",
		cluster.ParseServiceAccounts)
	if len(accounts) == 0 {
		return cluster.KarpenterAccounts()
	}
	return accounts
}

// Standby makes a handler that does not act while Karpenter acts in the cluster, because two
// autoscalers must not act on the same pools. It logs why, and gives the event to aside. Aside
// writes nothing to the cluster: it keeps what has to be looked at again after standby. Without
// aside the event is acknowledged. When the Lease cannot be read, the handler returns the error,
// and the event comes back. A dry run writes nothing and therefore never stands by.
func Standby[In, Out any](
	connection *Connection, recorder *metrics.Recorder, handler, aside Handler[In, Out],
) Handler[In, Out] {
	return func(ctx context.Context, event In) (Out, error) {
		if connection.dryRun {
			return handler(ctx, event)
		}
		var nothing Out
		leader, err := leaderInTime(ctx, connection)
		if err != nil {
			return nothing, err
		}
		if leader == nil {
			return handler(ctx, event)
		}
		slog.WarnContext(ctx, "standby: Karpenter acts in this cluster; scale its Deployment to 0 to let Whittle act",
			"karpenter", leader.String())
		recorder.Write(metrics.Count(metrics.Standby, 1))
		if aside == nil {
			return nothing, nil
		}
		return aside(ctx, event)
	}
}

// leaderInTime leaves time to answer for a handler that failed. Lost answers of EKS may take longer
// than a short invocation has, and a message whose invocation was ended comes back late.
func leaderInTime(ctx context.Context, connection *Connection) (*cluster.Leader, error) {
	bounded, cancel := WithReserve(ctx)
	defer cancel()
	return connection.KarpenterLeader(bounded)
}

// KarpenterLeader returns the Karpenter that leads in the cluster, or nil when none does. The
// answer is at most leaderFor old. An error is that of reading the cluster, its Leases or
// Karpenter's pods.
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
	found, err := client.KarpenterLeadership(ctx, c.Karpenter, now)
	if err != nil {
		return nil, err
	}
	for _, why := range found.Ignored {
		slog.WarnContext(ctx, "ignoring a lease of Karpenter's name; if it is Karpenter's, set karpenterServiceAccounts",
			"reason", why)
	}
	c.leader, c.asked = found.Leader, now
	return found.Leader, nil
}

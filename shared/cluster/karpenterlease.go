package cluster

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

const (
	// KarpenterLease is the Lease by which Karpenter's replicas choose their leader. It is in
	// Karpenter's namespace: kube-system by its guide.
	KarpenterLease = "karpenter-leader-election"
	// clockLeeway is how far the clock of Karpenter's host may be behind. A lease counts for that much
	// longer.
	clockLeeway = 5 * time.Second
	// karpenterLeaseDuration is Karpenter's default, for a lease without a duration.
	karpenterLeaseDuration = 15 * time.Second
)

// Leader is the holder of Karpenter's Lease.
type Leader struct {
	// Namespace is Karpenter's, Identity the name of the pod that holds the Lease.
	Namespace, Identity string
	// Renewed is the time of the last renewal.
	Renewed time.Time
}

// String names the leader and the Lease that shows it.
func (l *Leader) String() string {
	return fmt.Sprintf("%q holds the Lease %s/%s, renewed %s",
		l.Identity, l.Namespace, KarpenterLease, l.Renewed.UTC().Format(time.RFC3339))
}

// KarpenterLeader returns the leader of the cluster's Karpenter, whatever its namespace. It returns
// nil, and no error, when nobody renews the Lease. The watch cache answers the one call.
func (c *Client) KarpenterLeader(ctx context.Context, now time.Time) (*Leader, error) {
	var leases coordinationv1.LeaseList
	selector := "metadata.name=" + KarpenterLease
	err := c.list(ctx, "/apis/coordination.k8s.io/v1/leases", &leases, "fieldSelector", selector)
	if err != nil {
		return nil, fmt.Errorf("looking for a Karpenter that runs: %w", err)
	}
	for i := range leases.Items {
		lease := &leases.Items[i]
		holder, renewed := lease.Spec.HolderIdentity, lease.Spec.RenewTime
		if holder == nil || *holder == "" || renewed == nil {
			continue // released
		}
		lasts := karpenterLeaseDuration
		if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil {
			lasts = time.Duration(*seconds) * time.Second
		}
		if now.Before(renewed.Add(lasts + clockLeeway)) {
			return &Leader{Namespace: lease.Namespace, Identity: *holder, Renewed: renewed.Time}, nil
		}
	}
	return nil, nil
}

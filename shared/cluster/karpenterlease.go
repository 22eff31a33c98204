package cluster

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

const (
	// KarpenterLease is the Lease by which Karpenter's replicas choose the one that acts. It lies in the namespace
	// that Karpenter runs in: kube-system by its guide.
	KarpenterLease = "karpenter-leader-election"
	// clockLeeway is how far the clock of Karpenter's host may be behind: a lease counts for so much longer.
	clockLeeway = 5 * time.Second
	// karpenterLeaseDuration is Karpenter's own, for a lease that does not say how long it lasts.
	karpenterLeaseDuration = 15 * time.Second
)

// Leader is who holds Karpenter's lease.
type Leader struct {
	// Namespace is where Karpenter runs, Identity the pod that holds the lease.
	Namespace, Identity string
	// Renewed is when it last did.
	Renewed time.Time
}

// String says who leads and how one can tell.
func (l *Leader) String() string {
	return fmt.Sprintf("%q holds the Lease %s/%s, renewed %s", l.Identity, l.Namespace, KarpenterLease, l.Renewed.UTC().Format(time.RFC3339))
}

// KarpenterLeader returns who acts for Karpenter in the cluster now, or nil when nobody renews its lease. It is one
// call, answered from the watch cache, whatever namespace Karpenter is in.
func (c *Client) KarpenterLeader(ctx context.Context, now time.Time) (*Leader, error) {
	var leases coordinationv1.LeaseList
	if err := c.list(ctx, "/apis/coordination.k8s.io/v1/leases", &leases, "fieldSelector", "metadata.name="+KarpenterLease); err != nil {
		return nil, fmt.Errorf("looking for a Karpenter that runs: %w", err)
	}
	for i := range leases.Items {
		lease := &leases.Items[i]
		holder, renewed := lease.Spec.HolderIdentity, lease.Spec.RenewTime
		if holder == nil || *holder == "" || renewed == nil {
			continue // given back
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

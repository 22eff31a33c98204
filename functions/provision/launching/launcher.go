package launching

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/freeze"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/shared/publish"
)

// parallelLaunches is how many fleets are asked for at once. EC2 allows a few calls a second.
const parallelLaunches = 4

// errThrottled ends a round of launches after EC2 has throttled one of them.
var errThrottled = errors.New("EC2 asks for fewer calls")

// Client is what launches read and write in the cluster. A patch that carries a resourceVersion
// returns a conflict (cluster.IsConflict) when the object has changed. A patch returns not found
// (cluster.IsGone) when the object has gone; a deletion succeeds then.
type Client interface {
	CreateNodeClaim(context.Context, *api.NodeClaim) (*api.NodeClaim, error)
	PatchNodeClaim(ctx context.Context, name string, patch map[string]any) (*api.NodeClaim, error)
	PatchNodeClaimStatus(ctx context.Context, name string, patch map[string]any) (*api.NodeClaim, error)
	DeleteNodeClaim(ctx context.Context, name string, uid types.UID) error
	NodeClasses(context.Context) ([]api.EC2NodeClass, error)
	PatchNodeClassStatus(ctx context.Context, name string, patch map[string]any) (*api.EC2NodeClass, error)
	CertificateAuthority() []byte
}

// Fleet is what launches ask of EC2.
type Fleet interface {
	// Launch may return instances with an error: those that EC2 launched all the same.
	Launch(context.Context, launch.Request) (fleet.Outcome, error)
	// InstancesOf lists the instances of an earlier request for the claim or its batch.
	InstancesOf(context.Context, *api.NodeClaim) ([]fleet.Instance, error)
	FreeAddresses(ctx context.Context, subnets []string) (map[string]int, error)
}

// Launcher writes claims and launches their instances. It has no state of its own.
type Launcher struct {
	Cluster string // the EKS cluster's name
	Client  Client
	Fleet   Fleet
	Now     func() time.Time
	Metrics *metrics.Recorder // may be nil
	// Addresses is the container's, and Tokens the pass's.
	Addresses *Addresses
	Tokens    *Tokens
	// Frozen reads, past every cache, which freeze holds launches of the pool; nil for none.
	Frozen func(ctx context.Context, pool string) (*freeze.Freeze, error)
	// Record keeps an event for the end of the pass. It is safe for concurrent use.
	Record    func(cluster.Event)
	Published *publish.Pending // for EventBridge
}

// Source is what a claim's instance is made from.
type Source struct {
	Class *api.EC2NodeClass // nil when it does not exist
	Pool  *api.NodePool     // nil for a claim without a pool that may get nodes
	Types []catalog.InstanceType
}

// Facts are what a round of launches is decided by. They do not change during the round.
type Facts struct {
	Classes  []api.EC2NodeClass
	SourceOf func(*api.NodeClaim) Source
	// Owned are the ids of the instances that claims have.
	Owned map[string]bool
	// Joined is what nodes must know of the cluster.
	Joined nodeclass.Cluster
	// Unavailable are the offerings that EC2 was short of before.
	Unavailable *catalog.Unavailable
}

// Result is what came of a round of launches.
type Result struct {
	// Launched are the claims that have an instance now, as they are stored.
	Launched []*api.NodeClaim
	// Short is set when EC2 was short of capacity for a claim, so that another plan is due.
	Short bool
	// Lacking are the offerings that EC2 was short of in this round.
	Lacking catalog.Unavailable
}

// Launch makes an attempt for each group, and writes down what comes of it. The errors of a group
// stop no other, except that throttling stops the groups that have not begun.
func (l *Launcher) Launch(ctx context.Context, facts Facts, groups []launch.Group) (Result, error) {
	if len(groups) == 0 {
		return Result{}, nil
	}
	l.Addresses.refresh(ctx, l.Fleet, facts.Classes, l.Now())
	r := &round{Launcher: l, facts: facts, shortages: newShortages(facts.Unavailable)}
	came := make([]outcome, len(groups))
	var group errgroup.Group
	group.SetLimit(parallelLaunches)
	for i := range groups {
		// The next invocation finds the claims that are left. After throttling EC2 would only
		// refuse them.
		if stop := r.stopped(ctx); stop != nil {
			came[i].failed = fmt.Errorf("%d of %d launches are left: %w", len(groups)-i, len(groups), stop)
			break
		}
		group.Go(func() error {
			came[i] = r.launch(ctx, groups[i])
			return nil
		})
	}
	_ = group.Wait() // each outcome has its own error
	all := join(came...)
	l.measure(all.launched)
	return Result{Launched: all.launched, Short: all.short, Lacking: r.shortages.lacking()}, all.failed
}

// round is one call of Launch. Beside facts it has what its launches tell each other.
type round struct {
	*Launcher
	facts     Facts
	shortages *shortages
	throttled atomic.Bool
}

// stopped is why no more is asked for in this round. It is nil while the round goes on.
func (r *round) stopped(ctx context.Context) error {
	if r.throttled.Load() {
		return errThrottled
	}
	return ctx.Err()
}

// outcome is what came of steps, of tries or of groups.
type outcome struct {
	launched []*api.NodeClaim
	short    bool
	failed   error
}

// join is the outcome of several parts, in their order.
func join(parts ...outcome) outcome {
	var all outcome
	failed := make([]error, len(parts))
	for i, part := range parts {
		all.launched = append(all.launched, part.launched...)
		all.short = all.short || part.short
		failed[i] = part.failed
	}
	all.failed = errors.Join(failed...)
	return all
}

// measure counts the launches, and how long after its claim was written each was made.
func (l *Launcher) measure(launched []*api.NodeClaim) {
	if len(launched) == 0 {
		return
	}
	took := metrics.Value{Name: metrics.LaunchSeconds}
	for _, claim := range launched {
		took.Numbers = append(took.Numbers, l.Now().Sub(claim.CreationTimestamp.Time).Seconds())
	}
	l.Metrics.Write(metrics.Count(metrics.Launches, float64(len(launched))), took)
}

package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/functions/lifecycle/nodepool"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/guard"
)

const (
	// afterConflict is the time until the next pass when an object has changed since it was read,
	// or had to wait.
	afterConflict = 2 * time.Second
	// turn is the time after which a pass begins nothing more, except what only ticks do. By then
	// pods of other nodes may have to leave. It is half of the Lease's time, so that two passes
	// seldom do the same work.
	turn = leaseFor / 2
	// beside is the number of claims that are not urgent and are worked on beside sixteen drains
	// that begin.
	beside = parallel / 4
	// sweepEvery is how often, in minutes of the hour, a tick looks for what nothing uses:
	// Karpenter's interval.
	sweepEvery = 30
)

// result is what a pass asks for.
type result struct {
	// again is the time until the next pass; zero when the next tick is soon enough.
	again time.Duration
	// wantsCapacity is set when provision has to look at once.
	wantsCapacity bool
}

// pass works on everything that was seen.
type pass struct {
	performer
	seen      *seen
	leftovers leftovers

	mutex  sync.Mutex
	result result
	failed []error
}

func newPass(h *Handler, client kubernetes, seen *seen, report bool) *pass {
	return &pass{
		performer: performer{
			client: client, fleet: h.fleet, now: h.now, report: report,
			nominations: make(chan struct{}, cmp.Or(h.Nominations, parallel)),
		},
		seen: seen, leftovers: h.leftovers,
	}
}

// run works on pools, then on claims, then on what only ticks do. A part that fails ends no other.
func (p *pass) run(ctx context.Context) (result, error) {
	p.events.Add(p.seen.events...)
	// The pools come first, because they count the claims that are about to be given up.
	// Those of Provisioners are written before their statuses, which would change their versions.
	p.keepProvisioners(ctx)
	p.writePoolStatuses(ctx)
	if p.seen.skipDrains {
		p.lookAgain(afterConflict) // the pass that drains may die
	}
	p.workOnClaims(ctx)
	if p.seen.tick {
		p.collectGarbage(ctx)
	}
	return p.result, errors.Join(p.failed...)
}

// note adds to the result. It is safe for concurrent use.
func (p *pass) note(again time.Duration, wantsCapacity bool, err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if again > 0 && (p.result.again == 0 || again < p.result.again) {
		p.result.again = again
	}
	p.result.wantsCapacity = p.result.wantsCapacity || wantsCapacity
	if err != nil {
		p.failed = append(p.failed, err)
	}
}

func (p *pass) lookAgain(after time.Duration) { p.note(after, false, nil) }

func (p *pass) fail(err error) { p.note(0, false, err) }

func (p *pass) writePoolStatuses(ctx context.Context) {
	var group errgroup.Group
	group.SetLimit(parallel)
	for i := range p.seen.pools {
		group.Go(func() error {
			p.fail(p.writePoolStatus(ctx, &p.seen.pools[i]))
			return nil
		})
	}
	_ = group.Wait() // the functions report by fail
}

func (p *pass) writePoolStatus(ctx context.Context, pool *api.NodePool) error {
	s := p.seen
	var patch map[string]any
	err := guard.Run(func() error {
		patch = nodepool.StatusPatch(pool, nodepool.Seen{
			Claims: s.claims, Nodes: s.nodes, Classes: s.classes, Blocked: s.blocked,
		}, p.now())
		return nil
	})
	if err != nil {
		p.events.Add(defect(disruption.AboutPool(pool), err))
		return fmt.Errorf("nodepool %q: %w", pool.Name, err)
	}
	if patch == nil {
		return nil
	}
	err = p.client.PatchNodePoolStatus(ctx, pool.Name, patch)
	// The list may be a moment old. The next tick reads the pool as it is.
	if cluster.IsConflict(err) || cluster.IsGone(err) {
		return nil
	}
	return err
}

// workOnClaims brings each claim one step forward: the urgent ones sixteen at a time, and others
// beside them.
func (p *pass) workOnClaims(ctx context.Context) {
	began := p.now()
	contents := newContents(p.client, p.now, p.seen.views)
	p.evictions = max(1, parallel/max(1, contents.count))
	workOn := func(view nodeclaim.View) {
		over := p.now().Sub(began) > turn
		if over && (!p.seen.tick || view.Claim.DeletionTimestamp != nil) {
			p.lookAgain(afterConflict)
			return
		}
		if err := contents.read(ctx, &view); err != nil {
			p.fail(err)
			return
		}
		p.workOnClaim(ctx, view, over)
	}
	urgent, others := split(p.seen.views)
	var drains sync.WaitGroup
	drains.Go(func() { each(urgent, parallel, workOn) })
	each(others, max(beside, parallel-len(urgent)), workOn)
	drains.Wait()
}

// workOnClaim brings the claim forward. It destroys nothing on a reading that is over, because that
// may be a minute old by then.
func (p *pass) workOnClaim(ctx context.Context, view nodeclaim.View, over bool) {
	if over {
		view.Expected = nil // others may have them by now
	}
	var outcome nodeclaim.Outcome
	err := guard.Run(func() error {
		outcome = nodeclaim.Next(view, p.now())
		return nil
	})
	if err != nil {
		p.events.Add(defect(disruption.AboutClaim(view.Claim), err))
		p.fail(fmt.Errorf("nodeclaim %q: %w", view.Claim.Name, err))
		return
	}
	if over && outcome.Destroys() {
		p.lookAgain(afterConflict)
		return
	}
	changed, err := p.do(ctx, view.Claim, outcome.Steps)
	if err != nil {
		err = fmt.Errorf("nodeclaim %q: %w", view.Claim.Name, err)
	}
	if changed || err != nil {
		p.lookAgain(afterConflict)
	}
	p.note(outcome.Again, outcome.WantsCapacity, err)
}

// each works on the views, some at a time.
func each(views []nodeclaim.View, atOnce int, workOn func(nodeclaim.View)) {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, view := range views {
		group.Go(func() error {
			workOn(view)
			return nil
		})
	}
	_ = group.Wait() // the functions return no error
}

// collectGarbage ends instances and nodes without a claim, sweeps leases, and works on classes.
func (p *pass) collectGarbage(ctx context.Context) {
	var group errgroup.Group
	group.SetLimit(parallel)
	inBackground := func(work func() error) {
		group.Go(func() error {
			p.fail(work())
			return nil
		})
	}
	if p.now().Minute()%sweepEvery == 0 {
		inBackground(func() error { return p.sweepLeases(ctx) })
	}
	for _, steps := range p.unclaimed(ctx) {
		inBackground(func() error {
			_, err := p.do(ctx, nil, steps)
			return err
		})
	}
	inBackground(func() error { return p.workOnClasses(ctx) })
	inBackground(func() error { return p.stampHashes(ctx) })
	p.reportBlocked(ctx)
	_ = group.Wait() // the functions report by fail
}

// unclaimed returns the steps for each instance and each deleted node without a claim. It reads the
// claims again where there seem to be any, because the pass may have begun a minute ago.
func (p *pass) unclaimed(ctx context.Context) [][]nodeclaim.Step {
	s := p.seen
	find := func(claims []api.NodeClaim) ([]nodeclaim.Instance, [][]nodeclaim.Step) {
		return nodeclaim.Strays(s.instances, claims, p.now()), nodeclaim.ReleaseOrphans(s.nodes, claims)
	}
	strays, steps := find(s.claims)
	if len(strays)+len(steps) == 0 {
		return nil
	}
	claims, err := p.client.NodeClaims(ctx)
	if err != nil {
		p.fail(err)
		return nil
	}
	strays, steps = find(claims)
	for _, stray := range strays {
		steps = append(steps, nodeclaim.EndStray(stray, s.nodesOf(stray)))
	}
	return steps
}

// sweepLeases deletes the leases in kube-node-lease that nodes have left which are gone.
func (p *pass) sweepLeases(ctx context.Context) error {
	leases, err := p.client.NodeLeases(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, stray := range nodeclaim.StrayLeases(leases, p.seen.nodes, p.now()) {
		err := p.client.DeleteNodeLease(ctx, stray.Name, stray.UID)
		if err == nil {
			slog.InfoContext(ctx, "deleted the lease of a node that is gone", "Node", stray.Name)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// reportBlocked tells people of pools with too many unhealthy nodes for a repair.
func (p *pass) reportBlocked(ctx context.Context) {
	for _, blocked := range p.seen.blocked {
		slog.WarnContext(ctx, "node repair is blocked", "NodePool", blocked.Pool,
			"nodes", blocked.Nodes, "unhealthy", blocked.Unhealthy, "waiting", len(blocked.Waiting))
	}
	p.events.Add(p.seen.blockedEvents()...)
}

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
	"github.com/whittle-dev/whittle/shared/api/legacy"
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
	// evictWithin bounds one eviction. A pass has many, and the API server checks a budget in a tenth of a
	// second.
	evictWithin = 3 * time.Second
	// beside is the number of claims that are not urgent and are worked on beside sixteen drains
	// that begin.
	beside = parallel / 4
	// sweepEvery is how often, in minutes of the hour, a tick looks for what nothing uses:
	// Karpenter's interval.
	sweepEvery = 30
)

// result is what a stage of a pass asks for, and what has failed in it.
type result struct {
	// again is the time until the next pass; zero when the next tick is soon enough.
	again time.Duration
	// wantsCapacity is set when provision has to look at once.
	wantsCapacity bool
	failed        error
}

// lookAgain asks for another pass soon, for an object that has changed or had to wait.
func lookAgain() result { return result{again: afterConflict} }

// join is the result of several stages or parts of them.
func join(results ...result) result {
	var joined result
	failed := make([]error, len(results))
	for i, one := range results {
		if one.again > 0 && (joined.again == 0 || one.again < joined.again) {
			joined.again = one.again
		}
		joined.wantsCapacity = joined.wantsCapacity || one.wantsCapacity
		failed[i] = one.failed
	}
	joined.failed = errors.Join(failed...)
	return joined
}

// each works on the items, some at a time, and joins the results. A part that fails ends no other.
func each[T any](items []T, atOnce int, workOn func(T) result) result {
	results := make([]result, len(items))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, item := range items {
		group.Go(func() error {
			results[i] = workOn(item)
			return nil
		})
	}
	_ = group.Wait() // the functions return no error
	return join(results...)
}

// pass works on everything that was seen. Its stages return what they ask for.
type pass struct {
	performer
	seen      *seen
	leftovers leftovers
	old       legacy.Settings
}

func newPass(h *Handler, client kubernetes, seen *seen) *pass {
	return &pass{
		performer: performer{
			client: client, fleet: h.fleet, now: h.now, report: seen.report,
			evictions:   max(1, parallel/max(1, drained(seen.views))),
			evicting:    &evictions{client: client},
			frozen:      newFreezes(client, h.now),
			nominations: make(chan struct{}, cmp.Or(h.Nominations, parallel)),
		},
		seen: seen, leftovers: h.leftovers, old: h.old,
	}
}

// run works on pools, then on claims, then on what only ticks do. A part that fails ends no other.
func (p *pass) run(ctx context.Context) result {
	p.events.Add(p.seen.events...)
	var drains result
	if p.seen.skipDrains {
		drains = lookAgain() // the pass that drains may die
	}
	// The pools come first, because they count the claims that are about to be given up.
	// Those of Provisioners are written before their statuses, which would change their versions.
	provisioners := p.keepProvisioners(ctx)
	pools := p.writePoolStatuses(ctx)
	claims := p.workOnClaims(ctx)
	var garbage result
	if p.seen.tick {
		garbage = p.collectGarbage(ctx)
	}
	return join(provisioners, pools, drains, claims, garbage)
}

func (p *pass) writePoolStatuses(ctx context.Context) result {
	halts := p.halts(ctx)
	return each(p.seen.owners.pools, parallel, func(pool api.NodePool) result {
		return result{failed: p.writePoolStatus(ctx, &pool, halts)}
	})
}

func (p *pass) writePoolStatus(ctx context.Context, pool *api.NodePool, halts nodepool.Halts) error {
	s := p.seen
	var patch map[string]any
	err := guard.Run(func() error {
		patch = nodepool.StatusPatch(pool, nodepool.Seen{
			Claims: s.claims, Nodes: s.nodes, Classes: s.owners.classes, Blocked: s.blocked, Halted: halts,
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
	// The list may be a moment old. The next tick reads the pool as it is.
	return cluster.IgnoreStale(p.client.PatchNodePoolStatus(ctx, pool.Name, patch))
}

// workOnClaims brings each claim one step forward: the urgent ones sixteen at a time, and others
// beside them.
func (p *pass) workOnClaims(ctx context.Context) result {
	ends := p.now().Add(turn)
	p.evicting.over = func() bool { return p.now().After(ends) }
	pods := newNodePods(p.client, p.now, countNodes(p.seen.views, p.now()), len(p.seen.nodes))
	contents := &contents{client: p.client, now: p.now, pods: pods}
	places := &places{client: p.client, pods: pods, seen: p.seen}
	workOn := func(view nodeclaim.View) result {
		over := p.evicting.over()
		if over && (!p.seen.tick || view.Claim.DeletionTimestamp != nil) {
			return lookAgain()
		}
		if err := contents.read(ctx, &view); err != nil {
			return result{failed: err}
		}
		if !over {
			places.read(ctx, &view, p.now())
		}
		return p.workOnClaim(ctx, view, over)
	}
	urgent, others := split(p.seen.views)
	var ofUrgent result
	var drains sync.WaitGroup
	drains.Go(func() { ofUrgent = each(urgent, parallel, workOn) })
	ofOthers := each(others, max(beside, parallel-len(urgent)), workOn)
	drains.Wait()
	return join(ofUrgent, ofOthers)
}

// workOnClaim brings the claim forward. It destroys nothing on a reading that is over, because that
// may be a minute old by then.
func (p *pass) workOnClaim(ctx context.Context, view nodeclaim.View, over bool) result {
	if over {
		view.Expected = nil // others may have them by now
	} else {
		view.Frozen = p.frozen.held(ctx, view.Hold(p.now()))
	}
	var outcome nodeclaim.Outcome
	err := guard.Run(func() error {
		outcome = nodeclaim.Next(view, p.now())
		return nil
	})
	if err != nil {
		p.events.Add(defect(disruption.AboutClaim(view.Claim), err))
		return result{failed: fmt.Errorf("nodeclaim %q: %w", view.Claim.Name, err)}
	}
	if over && outcome.Destroys() {
		return lookAgain()
	}
	var did done
	changed, err := p.carryOut(ctx, view.Claim, outcome.Steps, &did)
	if did.changed && !over {
		if fresh, is := p.stillJoins(ctx, view, did.bound); is {
			outcome = nodeclaim.Next(fresh, p.now())
			changed, err = p.do(ctx, view.Claim, outcome.Steps)
		}
	}
	done := result{again: outcome.Again, wantsCapacity: outcome.WantsCapacity}
	if err != nil {
		done.failed = fmt.Errorf("nodeclaim %q: %w", view.Claim.Name, err)
	}
	if changed || err != nil {
		done = join(done, lookAgain())
	}
	return done
}

// stillJoins reads a node again that has changed while it was worked on, if it joins. A kubelet that starts
// writes its node all the time. Without this the node would wait for the next pass, which may meet the same.
func (p *pass) stillJoins(ctx context.Context, view nodeclaim.View, bound bool) (fresh nodeclaim.View, is bool) {
	if !view.AwaitsPods() {
		return view, false
	}
	node, err := p.client.NodeNow(ctx, view.Nodes[0].Name)
	if err != nil {
		slog.WarnContext(ctx, "a node that has changed is not read again", "Node", view.Nodes[0].Name, "error", err)
		return view, false
	}
	return view.Again(node, bound)
}

// collectGarbage ends instances and nodes without a claim, sweeps leases, and works on classes.
func (p *pass) collectGarbage(ctx context.Context) result {
	var work []func() error
	if p.now().Minute()%sweepEvery == 0 {
		work = append(work, func() error { return p.sweepLeases(ctx) })
	}
	unclaimed, err := p.unclaimed(ctx)
	for _, steps := range unclaimed {
		work = append(work, func() error {
			_, err := p.do(ctx, nil, steps)
			return err
		})
	}
	work = append(work, func() error { return p.workOnClasses(ctx) }, func() error { return p.stampHashes(ctx) })
	p.reportBlocked(ctx)
	return join(result{failed: err}, each(work, parallel, func(work func() error) result {
		return result{failed: work()}
	}))
}

// unclaimed returns the steps for each instance and each deleted node without a claim. It reads the
// claims again where there seem to be any, because the pass may have begun a minute ago.
func (p *pass) unclaimed(ctx context.Context) ([][]nodeclaim.Step, error) {
	s := p.seen
	find := func(claims []api.NodeClaim) ([]nodeclaim.Instance, [][]nodeclaim.Step) {
		return nodeclaim.Strays(s.listing.instances, claims, p.now()), nodeclaim.ReleaseOrphans(s.nodes, claims)
	}
	strays, steps := find(s.claims)
	if len(strays)+len(steps) == 0 {
		return nil, nil
	}
	claims, err := p.client.NodeClaims(ctx)
	if err != nil {
		return nil, err
	}
	strays, steps = find(claims)
	for _, stray := range strays {
		steps = append(steps, nodeclaim.EndStray(stray, nodesOf(stray, s.nodes)))
	}
	return steps, nil
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
	p.events.Add(blockedEvents(p.seen.blocked, p.seen.owners.pools, p.seen.views)...)
}

package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/shared/observe"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/shared/snapshot"
	"github.com/whittle-dev/whittle/shared/status"
)

const (
	// rounds is how often one invocation plans at most when EC2 had no room for what it
	// asked for. What is still short then waits for the next tick.
	rounds = 10
	// roundTime is how much time must be left for another round: a large cluster is read
	// and planned, and a fleet launched, within it.
	roundTime = 15 * time.Second
)

// run is one pass under the lease.
type run struct {
	*handler
	client *cluster.Client
	wake   queue.Message

	catalog        *catalog.Snapshot
	unavailable    *catalog.Unavailable
	learned        *catalog.Learned
	reservations   map[string]catalog.ReservationCount
	types          map[string][]catalog.InstanceType // by EC2NodeClass, without NodeOverlays
	static         []api.NodePool                    // those with spec.replicas
	launchedClaims map[string]*api.NodeClaim         // by name, as they are after the launch
	told           int                               // events written on pods that have a place
	shown          *status.Plan                      // the last plan of the pass that has new nodes
	joined         nodeclass.Cluster                 // what nodes must know of it

	mutex sync.Mutex
	fresh map[string]bool // tokens of claims written in this pass and not asked for yet

	pending cluster.PendingEvents // events, to be written when everything is done
}

// next is another look at the cluster, of which nothing is known but what changes by the hour.
func (r *run) next() *run {
	return &run{handler: r.handler, client: r.client, wake: r.wake, catalog: r.catalog, joined: r.joined}
}

// isFresh tells that nobody can have asked EC2 for anything with the token.
func (r *run) isFresh(token string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.fresh[token]
}

// asked notes that EC2 is asked with the token.
func (r *run) asked(token string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.fresh, token)
}

// provision plans for the waiting pods and launches the plan, and gives pools with a
// fixed number of nodes that number. An error is what
// another try may mend; what a person must mend is an event on the object.
func (r *run) provision(ctx context.Context) error {
	r.launchedClaims, r.fresh = map[string]*api.NodeClaim{}, map[string]bool{}
	var failures error
	for round := range rounds {
		if deadline, limited := ctx.Deadline(); round > 0 && limited && time.Until(deadline) < roundTime {
			slog.WarnContext(ctx, "EC2 is short of capacity and the time is up: the next pass plans again")
			break
		}
		snapshot, err := r.read(ctx)
		failures = errors.Join(failures, err)
		if snapshot == nil {
			return failures
		}
		if r.dryRun {
			r.show(ctx, snapshot)
			return failures
		}
		failures = errors.Join(failures, r.shrink(ctx, snapshot))
		// Claims that an invocation before this one wrote and did not launch come
		// first: their pods are not to be planned for twice.
		short, err := r.launchAll(ctx, snapshot, launch.Groups(claimsOf(snapshot)))
		failures = errors.Join(failures, err)
		if !short {
			short, err = r.grow(ctx, snapshot)
			failures = errors.Join(failures, err)
		}
		if !short {
			short, err = r.plan(ctx, snapshot)
			failures = errors.Join(failures, err)
		}
		if !short {
			break
		}
	}
	if len(r.launchedClaims) > 0 {
		// A machine needs some seconds to boot before it can join.
		failures = errors.Join(failures, r.sender.Send(context.WithoutCancel(ctx), r.lifecycle, r.wake.Next(queue.ReasonLaunch, r.now().Add(joinAfter))))
	}
	return failures
}

// observe reads the cluster, and before the first round what is known of EC2's offer and what
// nodes must know, all at once: pods wait for it.
func (r *run) observe(ctx context.Context) (objects *snapshot.Objects, err error) {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) { objects, err = observe.Objects(ctx, r.client); return err })
	if r.catalog == nil {
		group.Go(func() (err error) { r.catalog, err = inventory.Catalog(ctx, r.client); return err })
		group.Go(func() (err error) { r.joined, err = join(ctx, r.client); return err })
	}
	if r.unavailable == nil {
		group.Go(func() (err error) { r.unavailable, err = inventory.Unavailable(ctx, r.client); return err })
		group.Go(func() (err error) { r.learned, err = inventory.Learned(ctx, r.client); return err })
		group.Go(func() (err error) { r.reservations, err = inventory.Reservations(ctx, r.client); return err })
	}
	return objects, group.Wait()
}

// plan asks the planner, writes down its claims and launches them. It tells
// whether EC2 was short of capacity.
func (r *run) plan(ctx context.Context, snapshot *plan.Snapshot) (short bool, err error) {
	if len(snapshot.Pods) == 0 {
		return false, nil
	}
	decided := r.solve(ctx, snapshot)
	claims := make([]api.NodeClaim, len(decided.NodeClaims))
	for i := range decided.NodeClaims {
		claims[i] = decided.NodeClaims[i].NodeClaim
	}
	stored, failures := r.write(ctx, snapshot, claims)
	places := map[string][]plan.PodRef{} // by the claim's name
	for i, claim := range stored {
		if claim == nil {
			continue
		}
		planned := &decided.NodeClaims[i]
		slog.InfoContext(ctx, "created nodeclaim", "NodeClaim", claim.Name, "NodePool", claim.Labels[api.NodePoolLabelKey],
			"instance-types", len(planned.InstanceTypes), "pods", len(planned.Pods), "price", planned.PricePerHour)
		places[claim.Name] = planned.Pods
	}
	written := present(stored)
	short, err = r.launchAll(ctx, snapshot, launch.Groups(written))
	failures = errors.Join(failures, err)
	// Words after deeds: thousands of pods may have got a place.
	for i := range written {
		if name := written[i].Name; r.launchedClaims[name] != nil {
			r.nominate(places[name], "nodeclaim/"+name)
		}
	}
	if !short {
		r.explain(ctx, decided)
	}
	return short, failures
}

// read reads everything that the planner decides by. The snapshot comes with an
// error when it lacks something without which the rest can be planned.
func (r *run) read(ctx context.Context) (*plan.Snapshot, error) {
	objects, err := r.observe(ctx)
	if err != nil {
		return nil, err
	}
	failures := r.resolve(ctx, objects)
	offer := snapshot.NewOffer(objects, r.catalog, r.observed(objects.NodeClaims), r.now())
	r.types, r.static = offer.ClassTypes, nil
	for _, pool := range objects.NodePools {
		if pool.Spec.Replicas != nil {
			pool.Default()
			r.static = append(r.static, pool)
		}
	}
	for i := range offer.Unusable {
		r.tellUnusable(ctx, &offer.Unusable[i])
	}
	r.tellOverlays(ctx, objects.NodeOverlays, offer.Problems)
	made := offer.Assemble(objects, r.now())
	snapshot.AddUnlaunched(made, objects)
	made.PreferencePolicy, made.MinValuesPolicy = r.preference, r.minValues
	if err := observe.Details(ctx, r.client, made); err != nil {
		return nil, errors.Join(failures, err)
	}
	return made, failures
}

// resolve brings the classes up to date. A class that cannot be resolved now is as it
// was; it stops no other.
func (r *run) resolve(ctx context.Context, objects *snapshot.Objects) error {
	var failures error
	for i := range objects.NodeClasses {
		class := objects.NodeClasses[i]
		if class.Default(); r.classes.Stale(&class) {
			var err error
			class, err = r.classes.Resolve(ctx, r.client, class, r.now())
			failures = errors.Join(failures, err)
			if len(class.Status.CapacityReservations) > 0 {
				var counts map[string]catalog.ReservationCount
				if counts, err = inventory.Reservations(ctx, r.client); err == nil {
					r.reservations = counts
				}
				failures = errors.Join(failures, err)
			}
		}
		objects.NodeClasses[i] = class
	}
	return failures
}

// observed is what is known of EC2's offer beyond the catalogue.
func (r *run) observed(claims []api.NodeClaim) catalog.Observed {
	return catalog.Observed{Unavailable: r.unavailable, Learned: r.learned, Reservations: catalog.Available(r.reservations, claims)}
}

// tellUnusable says why a pool gets no nodes. One that is broken does not stop the others.
func (r *run) tellUnusable(ctx context.Context, unusable *snapshot.Unusable) {
	if unusable.Reason == "" {
		return
	}
	pool := &unusable.Pool
	slog.WarnContext(ctx, "nodepool gets no nodes", "NodePool", pool.Name, "reason", unusable.Reason, "error", unusable.Message)
	r.record(disruption.AboutPool(pool), corev1.EventTypeWarning, unusable.Reason, unusable.Message)
}

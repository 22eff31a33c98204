package provision

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/provision/attempt"
	"github.com/whittle-dev/whittle/functions/provision/intent"
	"github.com/whittle-dev/whittle/functions/provision/launching"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/limit"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/misfit"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planning"
	"github.com/whittle-dev/whittle/shared/publish"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/shared/sight"
	"github.com/whittle-dev/whittle/shared/snapshot"
	"github.com/whittle-dev/whittle/shared/status"
	"github.com/whittle-dev/whittle/shared/virtual"
)

const (
	// maximumRounds is how often one look plans while EC2 has no room for what it asked for. The
	// next tick plans for the rest.
	maximumRounds = 10
	// roundTime is the time that must be left for another round. Within it a large cluster is read
	// and planned, and a fleet is launched.
	roundTime = 15 * time.Second
	// joinAfter is when lifecycle first looks for the nodes of new instances. A machine needs some
	// seconds to boot.
	joinAfter = 5 * time.Second
)

// pass is one look at the cluster under the Lease.
type pass struct {
	*Handler
	client *cluster.Client
	wake   queue.Message

	reader  *reader
	freezes *inventory.RecentFreezes
	// joined is what nodes must know of the cluster. It changes by the hour, and the next look keeps it.
	joined *nodeclass.Cluster

	// view is the round's reading of the cluster.
	view   *sight.View
	static []api.NodePool    // those with spec.replicas
	placed []plan.Nomination // by the last plan, those of virtual pods included

	// Results of the look.
	fresh     launching.Tokens
	launched  map[string]*api.NodeClaim // by name, as they are after the launch
	nominated int                       // events about pods that have a place
	shown     *status.Plan              // the last plan that has new nodes
	pending   cluster.PendingEvents
	published publish.Pending // for EventBridge
}

// newPass is a look at the cluster.
func newPass(h *Handler, client *cluster.Client, wake queue.Message) *pass {
	return &pass{
		Handler: h, client: client, wake: wake, reader: newReader(h, client),
		freezes: inventory.NewRecentFreezes(client, h.now),
	}
}

// next is another look at the cluster.
func (r *pass) next() *pass {
	return &pass{
		Handler: r.Handler, client: r.client, wake: r.wake, reader: r.reader.next(), joined: r.joined,
		freezes: inventory.NewRecentFreezes(r.client, r.now),
	}
}

// provision launches nodes for the pending pods, and gives pools with spec.replicas that number of
// nodes. An error is what another attempt may mend. Events on the objects say what a person has to
// mend.
func (r *pass) provision(ctx context.Context) error {
	r.launched = map[string]*api.NodeClaim{}
	var failures []error
	for round := range maximumRounds {
		if left, limited := function.Remaining(ctx); round > 0 && limited && left < roundTime {
			slog.WarnContext(ctx, "EC2 is short of capacity and the time is up: the next pass plans again")
			break
		}
		short, err := r.round(ctx)
		failures = append(failures, err)
		if !short {
			break
		}
	}
	if next, ok := r.wake.Next(queue.ReasonLaunch, r.now().Add(joinAfter)); ok && len(r.launched) > 0 {
		failures = append(failures, r.sender.Send(context.WithoutCancel(ctx), r.lifecycle, next))
	}
	return errors.Join(failures...)
}

// round plans and launches once. It returns whether EC2 was short of capacity, so that another
// round would plan differently.
func (r *pass) round(ctx context.Context) (short bool, err error) {
	snapshot, unprepared := r.prepare(ctx)
	if snapshot == nil {
		return false, unprepared
	}
	if r.dryRun {
		r.show(ctx, snapshot)
		return false, unprepared
	}
	undeleted := errors.Join(r.shrink(ctx, snapshot), r.withdraw(ctx, snapshot))
	// The claims that an earlier invocation wrote and did not launch come first. Their pods must
	// not be planned for twice.
	short, unlaunched := r.launchAll(ctx, snapshot, launch.Groups(claimsOf(snapshot)))
	failures := []error{unprepared, undeleted, unlaunched}
	if !short {
		short, err = r.grow(ctx, snapshot)
		failures = append(failures, err)
	}
	if !short {
		short, err = r.plan(ctx, snapshot)
		failures = append(failures, err)
	}
	return short, errors.Join(failures...)
}

// prepare reads the cluster and tells people what keeps pools and pods from nodes. The snapshot may
// come with an error that affects a part of it only. Without a snapshot nothing can be planned.
func (r *pass) prepare(ctx context.Context) (*plan.Snapshot, error) {
	var unjoined error
	var group sync.WaitGroup
	group.Go(func() { unjoined = r.join(ctx) })
	view, err := sight.Read(ctx, r.reader, r.settings, r.now())
	group.Wait()
	if err = errors.Join(unjoined, err); err != nil {
		return nil, err
	}
	r.view, r.static = view, intent.StaticPools(view.Objects.NodePools)
	if view.Incomplete != nil {
		slog.WarnContext(ctx, "a part of the cluster is not read, and its pods wait", "error", view.Incomplete)
	}
	if len(view.Requests)+len(view.Buffers) > 0 {
		r.planned()
	}
	r.report(ctx)
	unresolved := r.reader.report(view, r.record)
	return view.Snapshot, errors.Join(unresolved, view.Incomplete, r.remember(ctx, view.Misfits, view.MisfitsChanged))
}

// remember writes the misfits if they have changed.
func (r *pass) remember(ctx context.Context, misfits map[string]misfit.Misfit, changed bool) error {
	if !changed {
		return nil
	}
	r.view.Misfits = misfits
	r.reader.keepMisfits(misfits)
	return inventory.PutMisfits(ctx, r.client, misfits)
}

// report tells people what the view has found.
func (r *pass) report(ctx context.Context) {
	view := r.view
	r.reportOrder(ctx)
	r.reportFreezes(ctx)
	for i := range view.Offer.Unusable {
		r.reportUnusable(ctx, &view.Offer.Unusable[i])
	}
	for i := range view.Offer.Pools {
		r.reportFee(ctx, &view.Offer.Pools[i])
		r.reportHours(ctx, &view.Offer.Pools[i])
	}
	r.writeOverlays(ctx, overlayStatuses(view.Objects.NodeOverlays, view.Offer.Problems, r.now()))
	for i := range view.Snapshot.NodePools {
		r.reportIncompatible(ctx, &view.Snapshot.NodePools[i], view.Snapshot)
	}
	for _, uncounted := range snapshot.Uncounted(view.Objects, view.Snapshot.InstanceTypes, view.Now) {
		r.reportUncounted(ctx, uncounted)
	}
	for _, fault := range limit.Faults(view.Objects.CapacityQuotas) {
		r.reportQuota(ctx, fault)
	}
	r.reportMisfits(ctx, view.Held)
}

// reportQuota says that a CapacityQuota does not bound what it seems to.
func (r *pass) reportQuota(ctx context.Context, fault limit.Fault) {
	about := corev1.ObjectReference{
		APIVersion: api.CapacityQuotaAPIVersion, Kind: api.CapacityQuotaKind, Name: fault.Quota.Name, UID: fault.Quota.UID,
	}
	if r.recordNew(warning(about, "CapacityQuotaNotCounted", fault.Message)) {
		slog.WarnContext(ctx, "a capacityquota does not bound nodes as written",
			"CapacityQuota", fault.Quota.Name, "error", fault.Message)
	}
}

// reportUncounted says that plans keep no room for a DaemonSet.
func (r *pass) reportUncounted(ctx context.Context, uncounted snapshot.UncountedDaemonSet) {
	set := uncounted.Set
	about := corev1.ObjectReference{
		APIVersion: "apps/v1", Kind: "DaemonSet", Namespace: set.Namespace, Name: set.Name, UID: set.UID,
	}
	if r.recordNew(warning(about, "DaemonSetNotCounted", uncounted.Message)) {
		slog.WarnContext(ctx, "plans keep no room for a daemonset",
			"DaemonSet", set.Namespace+"/"+set.Name, "error", uncounted.Message)
	}
}

// reportMisfits says which pods the node launched for them did not serve, and that they wait. It says so as
// often as the events are written, and not in each pass.
func (r *pass) reportMisfits(ctx context.Context, held []sight.Held) {
	events := 0
	for _, pod := range held {
		if pod.Reason != sight.HeldMisfit {
			continue
		}
		if events++; events > maximumPodEvents {
			return
		}
		if r.recordNew(warning(aboutPod(pod.Pod), "FailedScheduling", pod.Message)) {
			slog.WarnContext(ctx, "the node launched for the pod does not serve it",
				"Pod", pod.Pod.String(), "error", pod.Message)
		}
	}
}

// reportUnusable says why a pool gets no nodes. Other pools get theirs.
func (r *pass) reportUnusable(ctx context.Context, unusable *snapshot.Unusable) {
	switch unusable.Reason {
	case "", snapshot.ReasonAsleep, snapshot.ReasonFrozen: // somebody wanted it
		return
	}
	pool := &unusable.Pool
	if r.warnPool(pool, unusable.Reason, unusable.Message) {
		slog.WarnContext(ctx, "nodepool gets no nodes",
			"NodePool", pool.Name, "reason", unusable.Reason, "error", unusable.Message)
	}
}

// reportOrder says that the order for the whole cluster cannot be read. Nothing sleeps by it.
func (r *pass) reportOrder(ctx context.Context) {
	for i := range r.view.Objects.NodePools {
		pool := &r.view.Objects.NodePools[i]
		if pool.ClusterOrder == nil || pool.ClusterOrder.Problem == nil {
			continue
		}
		message := "configmap " + cluster.Namespace + "/" + inventory.ControlName + ": " + pool.ClusterOrder.Problem.Error()
		if r.warnPool(pool, api.EventReasonInvalidClusterOrder, message) && i == 0 {
			slog.WarnContext(ctx, "the order for the cluster is not followed", "error", message)
		}
	}
}

// reportFreezes says which freezes cannot be read. Each counts until somebody mends it.
func (r *pass) reportFreezes(ctx context.Context) {
	pools := r.view.Objects.NodePools
	for i := range pools {
		for _, one := range pools[i].Freezes.Active(r.now()) {
			if one.Problem == "" || one.Pool != "" && one.Pool != pools[i].Name {
				continue
			}
			message := "configmap " + cluster.Namespace + "/" + inventory.ControlName + ": " + one.String()
			if r.warnPool(&pools[i], api.EventReasonInvalidClusterOrder, message) {
				slog.WarnContext(ctx, "a freeze that cannot be read counts", "NodePool", pools[i].Name, "error", message)
			}
		}
	}
}

// reportIncompatible says that no instance type suits the pool. Pods of other pools get their nodes.
func (r *pass) reportIncompatible(ctx context.Context, pool *api.NodePool, made *plan.Snapshot) {
	message := snapshot.Incompatible(pool, made.InstanceTypes[pool.Name], made.MinValuesPolicy)
	if message == "" {
		return
	}
	if r.warnPool(pool, api.EventReasonNoCompatibleInstanceTypes, message) {
		slog.WarnContext(ctx, "nodepool has no compatible instance type", "NodePool", pool.Name, "error", message)
	}
}

// reportFee says that the pool's fee, or its cost of interruptions, cannot be read. The pool's
// nodes launch without it.
func (r *pass) reportFee(ctx context.Context, pool *api.NodePool) {
	err := pool.PriceErrors()
	if err != nil && r.warnPool(pool, api.EventReasonInvalidPriceAnnotation, err.Error()) {
		slog.WarnContext(ctx, "nodepool without its price annotation", "NodePool", pool.Name, "error", err)
	}
}

// reportHours says that the pool's annotations about hours cannot be read. Its nodes launch all the same.
func (r *pass) reportHours(ctx context.Context, pool *api.NodePool) {
	problem := pool.HoursProblem()
	if problem != "" && r.warnPool(pool, api.EventReasonInvalidHoursAnnotation, problem) {
		slog.WarnContext(ctx, "nodepool without its hours", "NodePool", pool.Name, "error", problem)
	}
}

// withdraw deletes claims whose launch would exceed a limit, and those of pools that sleep. In the
// snapshot they are deleted from then on, so that one that cannot be deleted is not launched either.
func (r *pass) withdraw(ctx context.Context, snapshot *plan.Snapshot) error {
	types := func(claim *api.NodeClaim) []catalog.InstanceType {
		return typesFor(claim, snapshot, r.view.Offer.ClassTypes)
	}
	var failures []error
	for _, withdrawal := range intent.Withdrawals(r.view.Objects.NodePools, snapshot, types, r.now()) {
		// An earlier launch may have made an instance without an answer. Lifecycle looks for it.
		failures = append(failures, r.giveUp(ctx, attempt.GiveUp{
			Claims: []api.NodeClaim{*withdrawal.Claim}, Reason: attempt.ReasonInsufficientCapacity, Message: withdrawal.Message,
		}))
		deleted := withdrawal.Claim.DeepCopy()
		deleted.DeletionTimestamp = &metav1.Time{Time: r.now()}
		replaceClaim(snapshot, deleted)
	}
	return errors.Join(failures...)
}

// grow writes and launches the claims that pools with spec.replicas lack, and adds them to the
// snapshot. It returns whether EC2 was short of capacity.
func (r *pass) grow(ctx context.Context, snapshot *plan.Snapshot) (short bool, err error) {
	var failures []error
	for i := range r.static {
		pool := &r.static[i]
		claims, missing, err := intent.Missing(pool, snapshot, r.now())
		if err != nil && r.warnPool(pool, attempt.ReasonInsufficientCapacity, err.Error()) {
			slog.WarnContext(ctx, "nodepool lacks nodes", "NodePool", pool.Name, "missing", missing, "error", err)
		}
		if len(claims) > 0 {
			claims = r.withinLimits(ctx, pool, claims, snapshot)
		}
		if len(claims) == 0 {
			continue
		}
		stored, unwritten := r.create(ctx, snapshot, claims)
		written := present(stored)
		for j := range written {
			slog.InfoContext(ctx, "created nodeclaim",
				"NodeClaim", written[j].Name, "NodePool", pool.Name, "replicas", *pool.Spec.Replicas)
			snapshot.Nodes = append(snapshot.Nodes, plan.Node{NodeClaim: &written[j]})
		}
		lacking, unlaunched := r.launchAll(ctx, snapshot, launch.Groups(written))
		failures = append(failures, unwritten, unlaunched)
		short = short || lacking
	}
	return short, errors.Join(failures...)
}

// withinLimits keeps the claims of a pool with replicas that the limits of several pools allow. It
// says which limit keeps the pool from the others.
func (r *pass) withinLimits(
	ctx context.Context, pool *api.NodePool, claims []api.NodeClaim, snapshot *plan.Snapshot,
) []api.NodeClaim {
	types := func(claim *api.NodeClaim) []catalog.InstanceType {
		return typesFor(claim, snapshot, r.view.Offer.ClassTypes)
	}
	kept, exceeded := intent.KeepWithin(claims, snapshot, types, r.now())
	if exceeded != "" && r.warnPool(pool, attempt.ReasonInsufficientCapacity, exceeded) {
		slog.WarnContext(ctx, "nodepool lacks nodes",
			"NodePool", pool.Name, "missing", len(claims)-len(kept), "error", exceeded)
	}
	return kept
}

// plan asks the planner, writes its claims and launches them. It returns whether EC2 was short of
// capacity.
func (r *pass) plan(ctx context.Context, snapshot *plan.Snapshot) (short bool, err error) {
	if len(snapshot.Pods) == 0 {
		r.tell(ctx, snapshot, virtual.Outcome{})
		return false, nil
	}
	decided, outcome, returned := r.solve(ctx, snapshot)
	claims := make([]api.NodeClaim, len(decided.NodeClaims))
	for i := range decided.NodeClaims {
		claims[i] = decided.NodeClaims[i].NodeClaim
	}
	stored, unwritten := r.create(ctx, snapshot, claims)
	pods := map[string][]plan.PodRef{} // by the claim's name
	for i, claim := range stored {
		if claim == nil {
			continue
		}
		planned := &decided.NodeClaims[i]
		slog.InfoContext(ctx, "created nodeclaim", "NodeClaim", claim.Name, "NodePool", claim.Labels[api.NodePoolLabelKey],
			"instance-types", len(planned.InstanceTypes), "pods", len(planned.Pods), "price", planned.BilledPerHour())
		pods[claim.Name] = planned.Pods
	}
	written := present(stored)
	short, unlaunched := r.launchAll(ctx, snapshot, launch.Groups(written))
	for i := range written {
		if name := written[i].Name; r.launched[name] != nil {
			r.nominate(pods[name], name)
		}
	}
	r.extend(ctx, intent.Latecomers(snapshot, decided.Nominations))
	// A gang that has no place now gets none in a later round, which has fewer offerings.
	failed := errors.Join(unwritten, unlaunched, r.returnParts(ctx, returned, decided))
	if !short {
		r.tell(ctx, snapshot, outcome)
		r.explain(ctx, decided)
	}
	return short, failed
}

// tell writes what a plan has found on the objects that asked for virtual pods.
func (r *pass) tell(ctx context.Context, snapshot *plan.Snapshot, outcome virtual.Outcome) {
	r.writeBuffers(ctx, snapshot, outcome)
	r.writeRequests(ctx, snapshot, outcome)
}

// solve asks the planner, and logs and measures the plan. The plan speaks of real pods only: what
// it has for virtual ones is returned beside it, and so are the claims that gangs give back.
func (r *pass) solve(
	ctx context.Context, snapshot *plan.Snapshot,
) (decided *plan.Plan, outcome virtual.Outcome, returned []*api.NodeClaim) {
	start := r.now()
	made := planning.Solve(snapshot)
	if r.observe != nil {
		r.observe(r.view, made)
	}
	if fault := made.Fault(); fault != "" {
		slog.ErrorContext(ctx, "the plan leaves pods out because of a defect", "error", fault)
	}
	intent.MarkGangs(snapshot, made)
	intent.KeepGangsInOneZone(snapshot, made, r.now())
	decided, returned, r.placed = made, intent.Returns(snapshot, made), slices.Clone(made.Nominations)
	outcome = virtual.Take(decided)
	pods := len(snapshot.Pods) - len(outcome.Known)
	slog.InfoContext(ctx, "computed new nodeclaim(s) to fit pod(s)",
		"pods", pods, "virtual-pods", len(outcome.Known), "nodeclaims", len(decided.NodeClaims),
		"nominations", len(decided.Nominations), "unplaced", len(decided.Unplaced),
		"price", decided.BilledPerHour(), "risk", decided.RiskPerHour, "bound", decided.LowerBoundPerHour,
		"duration", r.now().Sub(start).String())
	if len(decided.NodeClaims) > 0 {
		// The bound is of prices with risks. Less the plan's own risk, it compares with what is
		// paid.
		r.metrics.Write(metrics.Count(metrics.PlanDollars, decided.BilledPerHour()),
			metrics.Count(metrics.PlanBoundDollars, max(decided.LowerBoundPerHour-decided.RiskPerHour, 0)))
		r.shown = summary(decided, pods, start)
	}
	return decided, outcome, returned
}

// show plans as always, logs the plan, and does nothing. It is the dry run.
func (r *pass) show(ctx context.Context, snapshot *plan.Snapshot) {
	if len(snapshot.Pods) == 0 {
		return
	}
	decided, _, _ := r.solve(ctx, snapshot)
	for i := range decided.NodeClaims {
		planned := &decided.NodeClaims[i]
		slog.InfoContext(ctx, "dry run: would create nodeclaim",
			"NodePool", planned.NodeClaim.Labels[api.NodePoolLabelKey],
			"instance-types", planned.InstanceTypes[:min(len(planned.InstanceTypes), 5)],
			"pods", len(planned.Pods), "price", planned.BilledPerHour())
	}
	r.explain(ctx, decided) // in the log, because the API server keeps no events of a dry run
}

// explain logs and records why pods have no place. A pod that waits for days is logged as often as its
// event is written, and not in each pass.
func (r *pass) explain(ctx context.Context, decided *plan.Plan) {
	events, told := unplacedEvents(decided), false
	for _, event := range events {
		if !r.recordNew(event) {
			continue
		}
		told = true
		slog.WarnContext(ctx, "could not schedule pod", "Pod", event.About.Namespace+"/"+event.About.Name,
			"error", event.Message)
	}
	if more := len(decided.Unplaced) - len(events); more > 0 && told {
		slog.WarnContext(ctx, "more pods are left out than events are written", "pods", more)
	}
}

// nominate records on the pods where they will run.
func (r *pass) nominate(pods []plan.PodRef, claim string) {
	for _, pod := range pods[:min(len(pods), maximumNominated-r.nominated)] {
		r.nominated++
		r.record(nominatedEvent(pod, claim))
	}
}

// record keeps an event until the look is done, unless the container wrote the same a short time
// ago.
func (r *pass) record(event cluster.Event) { r.recordNew(event) }

// recordNew is record, and reports whether the event is new.
func (r *pass) recordNew(event cluster.Event) bool {
	isNew := r.events.isNew(fmt.Sprintf("%s/%s/%s", event.About.UID, event.Reason, event.Message), r.now())
	if isNew {
		r.pending.Add(event)
	}
	return isNew
}

// warnPool records a warning about the pool, and reports whether it is new.
func (r *pass) warnPool(pool *api.NodePool, reason, message string) bool {
	return r.recordNew(cluster.Event{
		About: disruption.AboutPool(pool), Type: corev1.EventTypeWarning, Reason: reason, Message: message,
	})
}

// newBatchID returns a name that no other batch has.
func newBatchID() string { return strings.ToLower(rand.Text()) }

// poolsOf are the pools that claims can be of: those that may get nodes, and those with
// spec.replicas.
func (r *pass) poolsOf(snapshot *plan.Snapshot) []api.NodePool {
	return slices.Concat(snapshot.NodePools, r.static)
}

package provision

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/events/own"
	"github.com/whittle-dev/whittle/functions/provision/intent"
	"github.com/whittle-dev/whittle/functions/provision/launching"
	"github.com/whittle-dev/whittle/shared/alarm"
	"github.com/whittle-dev/whittle/shared/classes"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/publish"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/shared/reaction"
	"github.com/whittle-dev/whittle/shared/sight"
	"github.com/whittle-dev/whittle/shared/status"
	"github.com/whittle-dev/whittle/shared/version"
	"github.com/whittle-dev/whittle/shared/zonalshift"
)

const (
	// leaseName is the Lease under which one invocation at a time launches capacity for pending
	// pods.
	leaseName = "whittle-provision"
	// lookAgain is when a message comes back for an interruption that met another pass. The pause
	// grows with the number of passes that it has met. Most passes take about as long.
	lookAgain = time.Second
)

// Handler is the function in one container. What it remembers from one invocation to the next is a
// cache.
type Handler struct {
	// serve is handle, and what comes before it: standby.
	serve function.Handler[events.SQSEvent, events.SQSEventResponse]

	cluster    string
	provision  string // its own queue's URL
	lifecycle  string // queue URL
	connection interface {
		Client(context.Context) (*cluster.Client, error)
	}
	fleet   *fleet.Client
	classes *classes.Resolver
	// sender puts messages into a queue. Every error may be tried again.
	sender interface {
		Send(ctx context.Context, url string, messages ...queue.Message) error
	}
	shifts *zonalshift.Source // nil where zonal shifts are off
	alarms *alarm.Source      // nil where no alarm freezes disruption
	// publisher is nil where no bus gets events.
	publisher *publish.Publisher
	reported  atomic.Int64      // when this container last told of its tick, in Unix seconds
	waited    atomic.Int64      // the longest time that a pod has waited since then, in nanoseconds
	unserved  atomic.Int64      // PendingPods.Unserved at the last look of this container
	watch     *reaction.Starter // nil in the mode poll
	metrics   *metrics.Recorder
	dryRun    bool // make and log plans, and do nothing
	now       func() time.Time
	settings  sight.Settings
	refilled  atomic.Int64 // when this container last planned for virtual pods, in Unix nanoseconds
	headroom  atomic.Pointer[status.Headroom]

	// observe gets each plan with what it was made from, before anything is done. It is nil but in tests.
	observe func(*sight.View, *plan.Plan)

	// The rest is a warm container's cache: the events of the last minutes, the last messages to
	// its own queue, the free addresses of subnets, and what nodes must know of the cluster.
	known  knownCluster
	events recentEvents
	asked  queue.Asked
	// askedForChange is the last message that follows from a change.
	askedForChange queue.Asked
	addresses      launching.Addresses
}

// handle answers a batch with one pass.
func (h *Handler) handle(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	others := h.answerAlarms(ctx, batch)
	if len(others.Records) == 0 {
		return events.SQSEventResponse{}, nil
	}
	return function.OnePass(h.now, h.metrics, better, h.pass)(ctx, others)
}

// better prefers an interruption, which always leads to a plan, then a change, which no later tick
// repeats, and then the message that may cause more messages.
func better(candidate, chosen queue.Message) bool {
	if isInterruption(candidate) != isInterruption(chosen) {
		return isInterruption(candidate)
	}
	if isEvent(candidate) != isEvent(chosen) {
		return isEvent(candidate)
	}
	return isEvent(candidate) && candidate.Hop < chosen.Hop
}

// isEvent reports whether something has happened since the last pass may have read the cluster.
func isEvent(message queue.Message) bool { return message.Reason != queue.ReasonTick }

// isInterruption reports whether the message is an interruption, or one that came again.
func isInterruption(message queue.Message) bool {
	return message.Reason == queue.ReasonInterruption || message.Reason == queue.ReasonContinue
}

// aside answers a batch during standby. It measures the pending pods, because Karpenter may be
// unable to serve them. It sends an interruption again, which would lead to a plan.
func (h *Handler) aside(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	batch, _ = withoutAlarms(batch) // nothing is disrupted
	if len(batch.Records) == 0 {
		return events.SQSEventResponse{}, nil
	}
	return function.OnePass(h.now, h.metrics, better, func(ctx context.Context, wake queue.Message) error {
		client, err := h.connection.Client(ctx)
		if err != nil {
			return err
		}
		if _, _, err := h.measurePending(ctx, client); err != nil {
			return err
		}
		return h.again(ctx, wake)
	})(ctx, batch)
}

// pass plans and launches when pods are pending, or when a pool with spec.replicas has another
// number of nodes.
func (h *Handler) pass(ctx context.Context, wake queue.Message) error {
	h.asked.Arrived(wake)
	h.askedForChange.Arrived(wake)
	ctx, cancel := function.WithReserve(ctx)
	defer cancel()
	client, err := h.connection.Client(ctx)
	if err != nil {
		return err
	}
	if wake.Reason == queue.ReasonRequest {
		slog.InfoContext(ctx, "a plan is asked for by an event")
	}
	if wake.Reason == queue.ReasonTick {
		h.reportTick(ctx, client)
	}
	recent := true
	if !isInterruption(wake) {
		var needed bool
		if needed, recent, err = h.isNeeded(ctx, client, wake); err != nil || !needed {
			return err
		}
	}
	var starting sync.WaitGroup
	defer starting.Wait()
	if recent && wake.Reason != queue.ReasonChange { // a change comes from a watch that runs
		starting.Go(func() { h.watch.Start(ctx, client, h.now()) })
	}
	left, _ := function.Remaining(ctx)
	now := h.now()
	end := now.Add(left + function.Reserve)
	lease, err := client.AcquireLease(ctx, leaseName, function.Invocation(ctx, now), now, end)
	if err != nil {
		return err
	}
	if lease == nil {
		slog.InfoContext(ctx, "another invocation is provisioning: it sees the same pods")
		return h.later(ctx, client, wake)
	}
	return h.underLease(ctx, client, lease, wake)
}

// tellEvery is how often a tick is told to people.
const tellEvery = time.Minute

// reportTick writes once a minute that provision ticks, for whittle status. Nothing depends on it, so
// that a failure is only logged.
func (h *Handler) reportTick(ctx context.Context, client *cluster.Client) {
	now := h.now()
	if last := time.Unix(h.reported.Load(), 0); now.Sub(last) < tellEvery {
		return
	}
	h.report(ctx, client)
}

// report reads the alarms, and writes what lasts.
func (h *Handler) report(ctx context.Context, client *cluster.Client) {
	now := h.now()
	h.reported.Store(now.Unix())
	h.readAlarms(ctx, client)
	var known bool
	told := status.Deployment{
		Tick: now.UTC().Truncate(time.Second), Version: version.String(), Headroom: h.headroom.Load(),
	}
	h.settings.Tell(&told)
	if told.Freezes, known = h.tellFreezes(ctx, client); !known {
		return // the next minute compares with what was told last
	}
	if err := status.PutDeployment(ctx, client, told, time.Duration(h.waited.Swap(0))); err != nil {
		slog.WarnContext(ctx, "the tick is not shown in the status", "error", err)
	}
}

// isNeeded is the whole cost of most idle ticks: one list of the unbound pods, and one of the pools,
// because a pool with spec.replicas may lack nodes that no pod waits for. Recent reports whether the
// work is new, so that more may follow.
//
// A change that is about pods needs no pass while a node is on its way for each of them: the scheduler
// tries pods again with each node that joins. The ticks plan for them all the same.
func (h *Handler) isNeeded(
	ctx context.Context, client *cluster.Client, wake queue.Message,
) (needed, recent bool, err error) {
	pods, pending, err := h.measurePending(ctx, client)
	now := h.now()
	switch {
	case err != nil:
		return false, false, err
	case pending.Count > 0 && wake.Reason == queue.ReasonChange:
		claims, err := client.NodeClaims(ctx)
		return err == nil && !intent.AllAwaited(pods, claims, now), true, err
	case pending.Count > 0:
		return true, h.watch.IsRecent(now.Add(-pending.Youngest), now), nil
	}
	for _, due := range []func(context.Context, *cluster.Client) (bool, error){h.requestsDue, h.buffersDue} {
		if due, err := due(ctx, client); err != nil || due {
			return due, false, err
		}
	}
	pools, claims, err := readReplicas(ctx, client)
	off := err == nil && intent.ReplicasOff(pools, claims, now)
	return off, off, err
}

// sleepCountsAfter is the waiting time from which it matters whether a pod waits for pools that sleep. Plans for
// new pods do not wait for that question.
const sleepCountsAfter = time.Minute

// measurePending counts the pending pods, and writes the count and the age of the oldest. It returns all
// pods without a node beside.
func (h *Handler) measurePending(
	ctx context.Context, client *cluster.Client,
) ([]corev1.Pod, intent.PendingPods, error) {
	pods, err := client.UnboundPods(ctx)
	if err != nil {
		return nil, intent.PendingPods{}, err
	}
	pending := intent.Pending(pods, nil, h.now())
	if pending.Oldest > sleepCountsAfter {
		pools, err := inventory.PoolsWithOrder(ctx, client, client.NodePools)
		if err != nil {
			slog.WarnContext(ctx, "pods that wait for a pool that sleeps count as pending", "error", err)
		}
		pending = intent.Pending(pods, pools, h.now())
	}
	h.waited.Store(max(h.waited.Load(), int64(pending.Oldest)))
	h.metrics.Write(metrics.Count(metrics.PodsPending, float64(pending.Count-pending.Asleep)),
		metrics.Count(metrics.OldestPodPending, pending.Oldest.Seconds()))
	if times := pending.Unserved(); times > h.unserved.Swap(times) {
		h.publisher.Publish(ctx, own.PodsUnserved{
			Head: own.HeadOf(h.cluster), Pods: pending.Count - pending.Asleep,
			OldestSeconds: math.Round(pending.Oldest.Seconds()),
		})
	}
	return pods, pending, nil
}

// underLease looks at the cluster until nobody has asked for another look, or the time is up.
func (h *Handler) underLease(
	ctx context.Context, client *cluster.Client, lease *cluster.Lease, wake queue.Message,
) error {
	// Events and the status are written behind the Lease or the next look, so that they delay
	// nobody who waits for the Lease.
	var writing sync.WaitGroup
	defer writing.Wait()
	for look := newPass(h, client, wake); ; look = look.next() {
		err := look.provision(lease.Fence(ctx))
		left, _ := function.Remaining(ctx)
		again, unreleased := release(context.WithoutCancel(ctx), lease, err == nil && left > roundTime)
		if unreleased != nil {
			slog.WarnContext(ctx, "the lease stays until its deadline", "lease", leaseName, "error", unreleased)
		}
		writing.Wait() // for the look before
		writing.Go(func() {
			look.publish(ctx)
			look.pending.Flush(ctx, client, parallelWrites, h.now())
			look.published.Flush(ctx, h.publisher)
		})
		if !again {
			return err
		}
	}
}

// release gives the Lease back. When another look is possible and was asked for, it keeps the Lease
// and returns true.
func release(ctx context.Context, lease *cluster.Lease, mayRepeat bool) (again bool, err error) {
	if mayRepeat {
		return lease.ReleaseUnlessAsked(ctx)
	}
	return false, lease.Release(ctx)
}

// later asks for another look after an event that met a pass. That pass may have read the
// cluster before the node was marked, and ticks look only at unbound pods. later asks the holder of
// the Lease to look once more. The holder may be unable to, or die, so that a message comes back as
// well.
func (h *Handler) later(ctx context.Context, client *cluster.Client, wake queue.Message) error {
	if isEvent(wake) && !cameAgain(wake) {
		if err := client.AskHolder(ctx, leaseName, h.now()); err != nil {
			slog.WarnContext(ctx, "the pass under way is not asked to look once more", "lease", leaseName, "error", err)
		}
	}
	return h.again(ctx, wake)
}

// cameAgain reports whether the message follows from one that met a pass, whose holder was asked then.
func cameAgain(wake queue.Message) bool {
	return wake.Reason == queue.ReasonContinue || wake.Reason == queue.ReasonChange && wake.Hop > 0
}

// again sends an event to this function again, unless a message on its way covers it. A change stays one,
// so that it leads to no pass once its pods are awaited. It covers no other event.
func (h *Handler) again(ctx context.Context, wake queue.Message) error {
	now, reason, asked := h.now(), queue.ReasonContinue, &h.asked
	if wake.Reason == queue.ReasonChange {
		reason, asked = queue.ReasonChange, &h.askedForChange
	}
	next, ok := wake.Next(reason, now.Add(lookAgain*time.Duration(wake.Hop+1)))
	if !ok || !isEvent(wake) || h.asked.Covers(next, now) || asked.Covers(next, now) {
		return nil
	}
	if err := h.sender.Send(ctx, h.provision, next); err != nil {
		return err
	}
	asked.Remember(next)
	return nil
}

package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/whittle-dev/whittle/shared/classes"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// leaseName is held by whoever launches capacity for pending pods.
	leaseName = "whittle-provision"
	// lookAgain is when an interruption that met a pass under way is looked at, times the
	// number of passes that it has met: most take about as long.
	lookAgain = time.Second
)

type handler struct {
	cluster    string
	provision  string // its own queue's URL
	lifecycle  string // queue URL
	connection interface {
		Client(context.Context) (*cluster.Client, error)
	}
	fleet   *fleet.Client
	classes *classes.Resolver
	sender  interface {
		Send(ctx context.Context, url string, messages ...queue.Message) error
	}
	metrics *metrics.Recorder
	dryRun  bool // plans are made and logged, and nothing is done
	now     func() time.Time
	// preference and minValues weigh what the planner cannot have all of.
	preference plan.PreferencePolicy
	minValues  plan.MinValuesPolicy

	// events remembers what was said of late, asked which look was asked for, counted when
	// replicas were counted last, addresses what subnets had free: a warm container's cache.
	events    recent
	asked     queue.Asked
	counted   occasion
	addresses addresses
}

// handle answers a batch with one pass.
func (h *handler) handle(ctx context.Context, batch events.SQSEvent) (events.SQSEventResponse, error) {
	return function.OnePass(h.now, better, h.pass)(ctx, batch)
}

// better: an interruption is looked at more closely than a tick, so it decides.
func better(candidate, _ queue.Message) bool { return candidate.Reason == queue.ReasonInterruption }

// pass looks at the pods that wait, and at pools with a fixed number of nodes, and plans
// and launches when there is anything to do.
func (h *handler) pass(ctx context.Context, wake queue.Message) error {
	ctx, cancel := function.WithReserve(ctx)
	defer cancel()
	client, err := h.connection.Client(ctx)
	if err != nil {
		return err
	}
	if wake.Reason != queue.ReasonInterruption {
		needed, err := h.anyWaiting(ctx, client)
		if err == nil && !needed {
			needed, err = h.anyReplicasOff(ctx, client)
		}
		if err != nil || !needed {
			return err
		}
	}
	deadline, _ := ctx.Deadline()
	now := h.now()
	lease, err := client.AcquireLease(ctx, leaseName, function.Invocation(ctx, now), now, now.Add(time.Until(deadline)+function.Reserve))
	if err != nil {
		return err
	}
	if lease == nil {
		slog.InfoContext(ctx, "another invocation is provisioning: it sees the same pods")
		return h.later(ctx, client, wake)
	}
	// Words come last: who waits for the lease, or to be looked at, need not wait for them.
	var words sync.WaitGroup
	defer words.Wait()
	for look := (&run{handler: h, client: client, wake: wake}); ; look = look.next() {
		err := look.provision(ctx)
		again, released := letGo(context.WithoutCancel(ctx), lease, err == nil && time.Until(deadline) > roundTime)
		if released != nil {
			slog.WarnContext(ctx, "the lease stays until its deadline", "lease", leaseName, "error", released)
		}
		words.Wait() // those of the look before
		words.Go(func() {
			look.publish(ctx)
			look.pending.Flush(ctx, client, writers, h.now())
		})
		if !again {
			return err
		}
	}
}

// letGo gives the lease back, unless there is time enough to look once more and somebody asked for that.
func letGo(ctx context.Context, lease *cluster.Lease, enough bool) (again bool, err error) {
	if enough {
		return lease.ReleaseUnlessAsked(ctx)
	}
	return false, lease.Release(ctx)
}

// later asks for another look after an interruption that met a pass under way: that pass may
// have read the cluster before the node was marked, and ticks look only at pods that are
// unbound already. Whoever is at it is asked to go on with it, and in case it cannot, or dies, a message
// comes back to look.
func (h *handler) later(ctx context.Context, client *cluster.Client, wake queue.Message) error {
	if wake.Reason != queue.ReasonInterruption || wake.Hop >= queue.MaximumHops {
		return nil
	}
	now := h.now()
	if wake.Hop == 0 {
		if err := client.AskHolder(ctx, leaseName, now); err != nil {
			slog.WarnContext(ctx, "the pass under way is not asked to look once more", "lease", leaseName, "error", err)
		}
	}
	next := wake.Next(queue.ReasonInterruption, now.Add(lookAgain*time.Duration(wake.Hop+1)))
	if h.asked.Covers(next, now) {
		return nil
	}
	err := h.sender.Send(ctx, h.provision, next)
	if err == nil {
		h.asked.Remember(next)
	}
	return err
}

// anyWaiting is all that most idle ticks cost: one list of the unbound pods.
func (h *handler) anyWaiting(ctx context.Context, client *cluster.Client) (bool, error) {
	pods, err := client.UnboundPods(ctx)
	if err != nil {
		return false, err
	}
	waiting, oldest, now := 0, time.Duration(0), h.now()
	for i := range pods {
		if scheduling.IsProvisionable(&pods[i]) {
			waiting++
			oldest = max(oldest, now.Sub(pods[i].CreationTimestamp.Time))
		}
	}
	h.metrics.Write(metrics.Count(metrics.PodsPending, float64(waiting)), metrics.Count(metrics.OldestPodPending, oldest.Seconds()))
	return waiting > 0, nil
}

package watch

import (
	"context"
	"log/slog"
	"time"

	"github.com/whittle-dev/whittle/functions/watch/signal"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/function"
	"github.com/whittle-dev/whittle/shared/metrics"
	"github.com/whittle-dev/whittle/shared/queue"
	"github.com/whittle-dev/whittle/shared/reaction"
)

const (
	// leaseFor is how long a watch that died keeps others away, beside the leeway for clocks.
	leaseFor = 20 * time.Second
	// renewEvery leaves time for two renewals that fail.
	renewEvery = 6 * time.Second
	// handOver is how long before its end a watch invokes its successor. A successor that does not
	// come is invoked again after handOverEvery.
	handOver      = time.Minute
	handOverEvery = 15 * time.Second
	// askEvery is how often the watch looks whether Karpenter leads.
	askEvery = 30 * time.Second
	// sendLimit bounds the time of one wake.
	sendLimit = 5 * time.Second
	// sendAgain is when a wake that could not be sent is tried again.
	sendAgain = time.Second
)

// queues are the URLs of the queues by which functions are woken.
type queues struct{ provision, lifecycle, disrupt string }

// Handler is the function in one container.
type Handler struct {
	// serve is handle, and what comes before it: standby.
	serve    function.Handler[reaction.Request, any]
	metrics  *metrics.Recorder
	cluster  string
	queues   queues
	settings reaction.Settings
	connect  func(context.Context) (*cluster.Client, error)
	// isStandby reports whether Karpenter acts in the cluster.
	isStandby func(context.Context) (bool, error)
	// sender puts messages into a queue. Every error may be tried again.
	sender interface {
		Send(ctx context.Context, url string, messages ...queue.Message) error
	}
	// succeed invokes a successor, which takes the Lease from the holder.
	succeed func(ctx context.Context, holder string) error
	now     func() time.Time
}

// handle watches until there is no work for a while, the time is up, or another watch runs. It
// returns an error if the watch could not begin. Later failures are logged, because the ticks go on.
func (h *Handler) handle(ctx context.Context, request reaction.Request) (any, error) {
	work, cancel := function.WithReserve(ctx)
	defer cancel()
	client, err := h.connect(work)
	if err != nil {
		return nil, err
	}
	now := h.now()
	if held, err := client.LeaseHeld(work, reaction.LeaseName, now); err != nil || held && request.Predecessor == "" {
		return nil, err
	}
	tracker := signal.NewTracker()
	sources, err := open(work, client, tracker, h.now)
	if err != nil {
		return nil, err
	}
	holder := function.Invocation(ctx, now)
	// The sources are open, so that a successor misses nothing after the predecessor's end.
	lease, err := client.SucceedLease(work, reaction.LeaseName, holder, request.Predecessor, now, now.Add(leaseFor))
	if err != nil || lease == nil {
		return nil, err
	}
	sources.start(work)
	w := &watching{Handler: h, holder: holder, lease: lease, tracker: tracker, began: now, worked: now}
	// What happened before is unknown: what was seen by whoever started this watch, and what later.
	w.missed(now)
	slog.InfoContext(ctx, "watch began", "predecessor", request.Predecessor)
	why := w.run(work, sources.changes)
	cancel()
	sources.wait()
	slog.InfoContext(ctx, "watch ended", "reason", why, "after", h.now().Sub(now).String(),
		"changes", w.changes, "wakes", w.wakes)
	w.end(context.WithoutCancel(ctx), why)
	return nil, nil
}

// end releases the Lease unless a successor has taken it.
func (w *watching) end(ctx context.Context, why ending) {
	if why == endSucceeded {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	if err := w.lease.Release(bounded); err != nil {
		slog.WarnContext(ctx, "lease not released, it ends by itself", "lease", reaction.LeaseName, "error", err)
	}
}

// ending says why a watch ended.
type ending string

const (
	endQuiet     ending = "no work for a while"
	endSucceeded ending = "another watch has the lease"
	endStandby   ending = "standby"
	endTime      ending = "the time is up"
	endRefused   ending = "its rights are gone, as when the stack is removed"
)

// watching is one watch under its Lease.
type watching struct {
	*Handler
	holder  string
	lease   *cluster.Lease
	tracker *signal.Tracker
	gather  signal.Gatherer

	began, worked  time.Time // worked is the time of the last wake
	renewed, asked time.Time
	handedOver     time.Time // when a successor was last invoked
	postponed      time.Time // until when nothing is sent, after a failure
	changes, wakes int
}

// run turns changes into wakes until the watch ends.
func (w *watching) run(ctx context.Context, changes <-chan change) ending {
	w.renewed, w.asked = w.began, w.began
	for {
		timer := time.NewTimer(w.pause(w.now()))
		select {
		case next := <-changes:
			w.observe(next)
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return endTime
		}
		timer.Stop()
		now := w.now()
		if why := w.keep(ctx, now); why != "" {
			return why
		}
		if refused := w.send(ctx, now); refused {
			return endRefused
		}
	}
}

// pause is the time until something has to be done if nothing changes.
func (w *watching) pause(now time.Time) time.Duration {
	pause := w.renewed.Add(renewEvery).Sub(now)
	if due, any := w.gather.Next(); any {
		pause = min(pause, max(due.Sub(now), w.postponed.Sub(now)))
	}
	return pause
}

func (w *watching) observe(next change) {
	now := w.now()
	w.changes++
	if next.missed {
		w.missed(now)
		return
	}
	for _, wake := range w.tracker.Observe(next.source, next.kind, &next.object) {
		w.gather.Add(wake, now)
	}
}

// missed wakes the functions for what the watch has not seen.
func (w *watching) missed(now time.Time) {
	w.gather.Add(signal.WakePods, now)
	w.gather.Add(signal.WakeAll, now)
}

// keep renews the Lease, hands over in time, and says why the watch has to end, if it has to.
func (w *watching) keep(ctx context.Context, now time.Time) ending {
	if w.settings.Mode != reaction.Always && !w.settings.IsRecent(w.worked, now) {
		return endQuiet
	}
	if now.Sub(w.renewed) < renewEvery {
		return ""
	}
	w.renewed = now
	held, err := w.lease.Renew(ctx, now, now.Add(leaseFor))
	if err != nil {
		slog.WarnContext(ctx, "lease not renewed", "lease", reaction.LeaseName, "error", err)
	}
	if cluster.IsForbidden(err) || cluster.IsUnauthorized(err) {
		return endRefused
	}
	if !held {
		return endSucceeded
	}
	if now.Sub(w.asked) >= askEvery {
		w.asked = now
		if standby, err := w.isStandby(ctx); err == nil && standby {
			return endStandby
		}
	}
	if left, ends := function.Remaining(ctx); ends && left <= handOver && now.Sub(w.handedOver) >= handOverEvery {
		w.handedOver = now
		if err := w.succeed(ctx, w.holder); err != nil {
			slog.WarnContext(ctx, "no successor yet", "error", err)
		}
	}
	return ""
}

// send wakes the functions whose time has come. A wake that could not be sent is due again, unless
// the right to send has gone.
func (w *watching) send(ctx context.Context, now time.Time) (refused bool) {
	if now.Before(w.postponed) {
		return false
	}
	for _, wake := range w.gather.Take(now) {
		url, reason := w.address(wake)
		bounded, cancel := context.WithTimeout(ctx, sendLimit)
		err := w.sender.Send(bounded, url, queue.Message{Cluster: w.cluster, At: now, Reason: reason})
		cancel()
		if err != nil {
			slog.WarnContext(ctx, "a function is not woken yet", "error", err)
			if queue.IsRefused(err) {
				return true
			}
			w.gather.Add(wake, now)
			w.postponed = now.Add(sendAgain)
			continue
		}
		w.wakes++
		w.worked = now
	}
	return false
}

// address is the queue and the reason by which a function knows what to look at.
func (w *watching) address(wake signal.Wake) (url string, reason queue.Reason) {
	switch wake {
	case signal.WakePods:
		return w.queues.provision, queue.ReasonChange
	case signal.WakePlan:
		return w.queues.provision, queue.ReasonInterruption
	case signal.WakeClaims:
		return w.queues.lifecycle, queue.ReasonChange
	case signal.WakeAll:
		return w.queues.lifecycle, queue.ReasonTick
	default:
		return w.queues.disrupt, queue.ReasonChange
	}
}

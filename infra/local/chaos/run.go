package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/infra/local/scenario"
	"github.com/whittle-dev/whittle/infra/local/world"
)

const (
	// beginPatience limits the time until the guarded pods run, before the first disturbance.
	beginPatience = 5 * time.Minute
	// settlePatience limits the recovery after the last disturbance. Functions give up interrupted
	// claims after minutes, and unanswered launches some minutes later. A replacement that was
	// rolled back waits ten minutes for its next try.
	settlePatience = 15 * time.Minute
	// staysFor is how long the recovered state must last.
	staysFor = 5 * time.Second
)

// Options configure a run.
type Options struct {
	Seed   uint64
	Length time.Duration
	Out    io.Writer // gets a line for each disturbance
}

// run is a run in progress.
type run struct {
	world   *world.World
	client  *scenario.Client
	watcher *watcher
	killed  int
}

// Report is the result of a run.
type Report struct {
	Seed         uint64
	Length       time.Duration
	Disturbances map[Kind]int
	Killed       int // functions, at their work
	Looks        int
	Missed       int
	Least        int // of the guarded pods that ran at a time
	Pods         int // that ran
	Came, Went   map[string]int
	Recovery     time.Duration // time to recover
	Violations   []string
}

// Run disturbs a world, waits for its recovery and reports.
func Run(ctx context.Context, w *world.World, options Options) (*Report, error) {
	setup, err := w.Scenario(io.Discard)
	if err != nil {
		return nil, err
	}
	r := &run{world: w, client: setup.Client, watcher: newWatcher(setup.Client, w.EC2)}
	if err := r.begin(ctx, setup); err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(ctx)
	var watched sync.WaitGroup
	watched.Go(func() { r.watcher.watch(watching) })
	report := &Report{Seed: options.Seed, Length: options.Length, Disturbances: map[Kind]int{}}
	err = r.disturbAll(ctx, options, report)
	if err == nil {
		err = r.settle(ctx, options, report)
	}
	stop()
	watched.Wait()
	if err != nil {
		return nil, err
	}
	r.evaluate(ctx, report)
	return report, nil
}

// begin creates the workload.
func (r *run) begin(ctx context.Context, setup scenario.Setup) error {
	role, err := r.world.NodeRole()
	if err != nil {
		return err
	}
	file := filepath.Join(setup.Root, "testdata", "manifests", "chaos.yaml")
	if err := r.client.Apply(ctx, file, map[string]string{"CLUSTER_NAME": setup.Name, "NODE_ROLE": role}); err != nil {
		return err
	}
	return scenario.Until(ctx, beginPatience, "the guarded pods to run",
		r.client.Running("default", guardedSelector, guardedLeast+2))
}

// disturbAll carries out each disturbance at its time.
func (r *run) disturbAll(ctx context.Context, options Options, report *Report) error {
	began := time.Now()
	for _, disturbance := range Schedule(options.Seed, options.Length) {
		select {
		case <-time.After(time.Until(began.Add(disturbance.At))):
		case <-ctx.Done():
			return ctx.Err()
		}
		to, err := r.disturb(ctx, disturbance)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && disturbance.Kind == Restart:
			return fmt.Errorf("restarting the control plane: %w", err)
		case err != nil:
			// The control plane may be restarting, or the instance ending.
			to = "failed: " + err.Error()
		}
		report.Disturbances[disturbance.Kind]++
		fmt.Fprintf(options.Out, "%s: %s\n", disturbance, to)
	}
	select {
	case <-time.After(time.Until(began.Add(options.Length))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settle ends the disturbances and waits for a recovery that lasts.
func (r *run) settle(ctx context.Context, options Options, report *Report) error {
	if err := r.stopDisturbing(); err != nil {
		return err
	}
	// The steady nodes go on expiring, so the recovered state is between two expirations.
	began := time.Now()
	var since time.Time
	err := scenario.Until(ctx, settlePatience, "the world to recover", func(ctx context.Context) (bool, string, error) {
		wrong, err := r.watcher.settled(ctx)
		if err != nil || wrong != "" {
			since = time.Time{}
			return false, wrong, err
		}
		if since.IsZero() {
			since = time.Now()
		}
		return time.Since(since) >= staysFor, "the world has not been well for long enough", nil
	})
	report.Recovery = time.Since(began)
	if err != nil && ctx.Err() == nil {
		report.Violations = append(report.Violations, err.Error())
		return nil
	}
	fmt.Fprintf(options.Out, "%7.1fs  the world has recovered, %.0f s after the last disturbance\n",
		(options.Length + report.Recovery).Seconds(), report.Recovery.Seconds())
	return err
}

// evaluate gathers the observations into the report.
func (r *run) evaluate(ctx context.Context, report *Report) {
	w := r.watcher
	w.mutex.Lock()
	report.Looks, report.Missed, report.Least, report.Pods = w.looks, w.missed, w.least, len(w.pods)
	report.Violations = append(report.Violations, w.violations...)
	w.mutex.Unlock()
	report.Killed = r.killed
	said := &history{came: map[string]string{}, went: map[string]string{}}
	for _, name := range functions() {
		said.read(name, r.world.FunctionLog(name))
	}
	known := w.known()
	report.Came, report.Went = counts(said.came, known, true), counts(said.went, known, false)
	report.Violations = append(report.Violations, said.unexplained(known)...)
	for _, refused := range append(r.world.Refusals(), r.missing(ctx, said.forbidden)...) {
		report.Violations = append(report.Violations, "a function lacks a right: "+refused)
	}
	for _, name := range queues() {
		if dead, err := r.world.Waiting(name + "-dead"); err != nil || dead > 0 {
			report.Violations = append(report.Violations,
				fmt.Sprintf("%d messages to %s are in the dead-letter queue (%v)", dead, name, err))
		}
	}
}

// missing returns the refused rights that are still missing. An API server that has just started
// also refuses requests whose roles it has not read yet.
func (r *run) missing(ctx context.Context, refused []refusal) []string {
	var missing []string
	for _, one := range refused {
		resource, subresource, _ := strings.Cut(one.resource, "/")
		review, err := r.client.Core.AuthorizationV1().
			SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				Groups: []string{"whittle:" + one.function},
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: one.verb, Group: one.group, Resource: resource, Subresource: subresource, Namespace: one.namespace,
					Name: one.name,
				},
			},
		}, metav1.CreateOptions{})
		if err != nil || !review.Status.Allowed {
			missing = append(missing, one.String())
		}
	}
	return missing
}

// errChaos is the error of a run with violations.
var errChaos = errors.New("the world did not recover")

// Write prints the report. It returns errChaos for violations.
func (r *Report) Write(out io.Writer) error {
	rows := []string{"", "disturbance\tcount"}
	for _, kind := range slices.Sorted(maps.Keys(r.Disturbances)) {
		rows = append(rows, fmt.Sprintf("%s\t%d", kind, r.Disturbances[kind]))
	}
	rows = append(rows, "", "reason of the start\tnodes")
	for _, why := range slices.Sorted(maps.Keys(r.Came)) {
		rows = append(rows, fmt.Sprintf("%s\t%d", why, r.Came[why]))
	}
	rows = append(rows, "", "reason of the end\tnodes")
	for _, why := range slices.Sorted(maps.Keys(r.Went)) {
		rows = append(rows, fmt.Sprintf("%s\t%d", why, r.Went[why]))
	}
	rows = append(rows, "",
		fmt.Sprintf("pods that ran\t%d", r.Pods),
		fmt.Sprintf("functions killed at their work\t%d", r.Killed),
		fmt.Sprintf("reads of the budget, of which %d failed\t%d", r.Missed, r.Looks),
		fmt.Sprintf("guarded pods that ran at a time, of at least %d\t%d", guardedLeast, r.Least),
		fmt.Sprintf("time to recover\t%.0f s", r.Recovery.Seconds()),
		"")
	if err := scenario.WriteTable(out, rows); err != nil {
		return err
	}
	for _, violation := range r.Violations {
		fmt.Fprintln(out, "VIOLATION", violation)
	}
	fmt.Fprintf(out, "chaos: seed %d, %s, %d violations\n", r.Seed, r.Length, len(r.Violations))
	if len(r.Violations) > 0 {
		return fmt.Errorf("%w: %d violations; again with seed=%d", errChaos, len(r.Violations), r.Seed)
	}
	return nil
}

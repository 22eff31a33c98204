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
	"sync/atomic"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
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
	// calmFor is how long the recovered world is watched.
	calmFor = 10 * time.Second
	// last is the number of pods of each workload that comes and goes, after the last disturbance.
	// The limit of their NodePool has room for them.
	last = 5
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
	effects *effects
	killed  atomic.Int64
}

// Report is the result of a run.
type Report struct {
	Seed         uint64
	Length       time.Duration
	Disturbances map[Kind]int
	Killed       int      // functions, at their work
	Idle         []string // lines about the disturbances without effect
	OldReads     int      // that the watch cache answered with earlier objects
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
	r := &run{world: w, client: setup.Client, watcher: newWatcher(setup.Client, w.EC2), effects: newEffects()}
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
	running := map[string]int{guardedSelector: guardedLeast + 2, "app=" + undisturbed: 2, "app=kept": 3}
	// Instances of spot exist from the beginning, so that disturbances hit some.
	for _, name := range workloads() {
		running["app="+name] = last
		if err := r.client.Scale(ctx, "default", name, last); err != nil {
			return err
		}
	}
	for _, selector := range slices.Sorted(maps.Keys(running)) {
		if err := scenario.Until(ctx, beginPatience, "the pods of "+selector+" to run",
			r.client.Running("default", selector, running[selector])); err != nil {
			return err
		}
	}
	return nil
}

// disturbAll carries out each disturbance at its time.
func (r *run) disturbAll(ctx context.Context, options Options, report *Report) error {
	began := time.Now()
	// What a disturbance waits for happens before the end, or it has no effect.
	disturbing, end := context.WithCancel(ctx)
	defer func() {
		end()
		r.effects.pending.Wait()
	}()
	for _, disturbance := range Schedule(options.Seed, options.Length) {
		select {
		case <-time.After(time.Until(began.Add(disturbance.At))):
		case <-ctx.Done():
			return ctx.Err()
		}
		r.effects.began()
		to, err := r.disturb(disturbing, disturbance)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && disturbance.Kind == Restart:
			return fmt.Errorf("restarting the control plane: %w", err)
		case err != nil:
			// The control plane may be restarting, or the instance ending.
			to = "failed: " + err.Error()
			r.effects.missed(disturbance.Kind)
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
	for _, name := range workloads() {
		if err := r.client.Scale(ctx, "default", name, last); err != nil {
			return err
		}
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
	if err != nil {
		return err
	}
	fmt.Fprintf(options.Out, "%7.1fs  the world has recovered, %.0f s after the last disturbance\n",
		(options.Length + report.Recovery).Seconds(), report.Recovery.Seconds())
	r.watcher.recover()
	select {
	case <-time.After(calmFor):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// evaluate gathers the observations into the report.
func (r *run) evaluate(ctx context.Context, report *Report) {
	w := r.watcher
	w.mutex.Lock()
	report.Looks, report.Missed, report.Least, report.Pods = w.looks, w.missed, w.least, len(w.pods)
	report.Violations = append(report.Violations, w.violations...)
	w.mutex.Unlock()
	report.Killed, report.Idle = int(r.killed.Load()), r.effects.rows()
	if report.OldReads = r.world.OldReads(); report.OldReads == 0 {
		report.Violations = append(report.Violations, "no read was answered by the lagging watch cache")
	}
	if said := r.effects.violation(); said != "" {
		report.Violations = append(report.Violations, said)
	}
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
	if dead, err := r.world.Waiting("dead"); err != nil || dead > 0 {
		report.Violations = append(report.Violations, fmt.Sprintf("%d messages are in the dead-letter queue (%v)", dead, err))
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
	rows = append(rows, r.Idle...)
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
		fmt.Sprintf("reads that a lagging watch cache answered\t%d", r.OldReads),
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

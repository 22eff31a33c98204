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
	// beginPatience bounds the time until the guarded pods run, before anything goes wrong.
	beginPatience = 5 * time.Minute
	// calmPatience bounds the time from the end of the chaos until all is well. Claims that
	// were cut off are given up after minutes, and what was asked of EC2 and not shown after
	// some more; a replacement that was rolled back is left alone for ten.
	calmPatience = 15 * time.Minute
	// staysFor is how long all has to be well.
	staysFor = 5 * time.Second
)

// Options say how a run goes.
type Options struct {
	Seed   uint64
	Length time.Duration
	Out    io.Writer // what happens is told here
}

// run is one under way.
type run struct {
	world   *world.World
	client  *scenario.Client
	watcher *watcher
	killed  int
}

// Report is what a run came to.
type Report struct {
	Seed       uint64
	Length     time.Duration
	Happened   map[Kind]int
	Killed     int // functions, at their work
	Looks      int
	Missed     int
	Least      int // of the guarded pods that ran at a time
	Pods       int // that ran
	Came, Went map[string]int
	Calm       time.Duration // from the end of the chaos until all was well
	Violations []string
}

// Run lets chaos reign in a world, ends it, waits until all is well, and reports.
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
	report := &Report{Seed: options.Seed, Length: options.Length, Happened: map[Kind]int{}}
	err = r.reign(ctx, options, report)
	if err == nil {
		err = r.settle(ctx, options, report)
	}
	stop()
	watched.Wait()
	if err != nil {
		return nil, err
	}
	r.judge(ctx, report)
	return report, nil
}

// begin makes what things will happen to.
func (r *run) begin(ctx context.Context, setup scenario.Setup) error {
	role, err := r.world.NodeRole()
	if err != nil {
		return err
	}
	file := filepath.Join(setup.Root, "testdata", "manifests", "chaos.yaml")
	if err := r.client.Apply(ctx, file, map[string]string{"CLUSTER_NAME": setup.Name, "NODE_ROLE": role}); err != nil {
		return err
	}
	return scenario.Until(ctx, beginPatience, "the guarded pods to run", r.client.Running("default", guardedSelector, guardedLeast+2))
}

// reign lets everything happen that is to happen, at its time.
func (r *run) reign(ctx context.Context, options Options, report *Report) error {
	began := time.Now()
	for _, happening := range Schedule(options.Seed, options.Length) {
		select {
		case <-time.After(time.Until(began.Add(happening.At))):
		case <-ctx.Done():
			return ctx.Err()
		}
		to, err := r.happen(ctx, happening)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && happening.Kind == Restart:
			return fmt.Errorf("restarting the control plane: %w", err)
		case err != nil:
			// The control plane may be on its way back, or the instance on its way out.
			to = "in vain: " + err.Error()
		}
		report.Happened[happening.Kind]++
		fmt.Fprintf(options.Out, "%s: %s\n", happening, to)
	}
	select {
	case <-time.After(time.Until(began.Add(options.Length))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// settle ends the chaos and waits until all is well, and stays so.
func (r *run) settle(ctx context.Context, options Options, report *Report) error {
	if err := r.calm(); err != nil {
		return err
	}
	// The steady nodes go on expiring: all is to be well between two ends.
	began := time.Now()
	var since time.Time
	err := scenario.Until(ctx, calmPatience, "all to be well again", func(ctx context.Context) (bool, string, error) {
		wrong, err := r.watcher.settled(ctx)
		if err != nil || wrong != "" {
			since = time.Time{}
			return false, wrong, err
		}
		if since.IsZero() {
			since = time.Now()
		}
		return time.Since(since) >= staysFor, "all is well, but not for long enough", nil
	})
	report.Calm = time.Since(began)
	if err != nil && ctx.Err() == nil {
		report.Violations = append(report.Violations, err.Error())
		return nil
	}
	fmt.Fprintf(options.Out, "%7.1fs  all is well, %.0f s after the chaos\n", (options.Length + report.Calm).Seconds(), report.Calm.Seconds())
	return err
}

// judge gathers what was seen.
func (r *run) judge(ctx context.Context, report *Report) {
	w := r.watcher
	w.mutex.Lock()
	report.Looks, report.Missed, report.Least, report.Pods = w.looks, w.missed, w.least, len(w.pods)
	report.Violations = append(report.Violations, w.violations...)
	w.mutex.Unlock()
	report.Killed = r.killed
	said := &trail{came: map[string]string{}, went: map[string]string{}}
	for _, name := range functions() {
		said.read(name, r.world.FunctionLog(name))
	}
	known := w.known()
	report.Came, report.Went = counts(said.came, known, true), counts(said.went, known, false)
	report.Violations = append(report.Violations, said.lacks(known)...)
	for _, refused := range append(r.world.Refusals(), r.missing(ctx, said.forbidden)...) {
		report.Violations = append(report.Violations, "a function may not do what it does: "+refused)
	}
	for _, name := range queues() {
		if dead, err := r.world.Waiting(name + "-dead"); err != nil || dead > 0 {
			report.Violations = append(report.Violations, fmt.Sprintf("%d messages to %s were given up (%v)", dead, name, err))
		}
	}
}

// missing are the refused rights that are missing still. An API server that has just begun
// refuses what it has not read the roles for yet.
func (r *run) missing(ctx context.Context, refused []refusal) []string {
	var missing []string
	for _, one := range refused {
		resource, subresource, _ := strings.Cut(one.resource, "/")
		review, err := r.client.Core.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				Groups: []string{"whittle:" + one.function},
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: one.verb, Group: one.group, Resource: resource, Subresource: subresource, Namespace: one.namespace, Name: one.name,
				},
			},
		}, metav1.CreateOptions{})
		if err != nil || !review.Status.Allowed {
			missing = append(missing, one.String())
		}
	}
	return missing
}

// errChaos is what a run with violations ends with.
var errChaos = errors.New("not all is well")

// Write prints the report; the error tells of violations.
func (r *Report) Write(out io.Writer) error {
	rows := []string{"", "what happened\ttimes"}
	for _, kind := range slices.Sorted(maps.Keys(r.Happened)) {
		rows = append(rows, fmt.Sprintf("%s\t%d", kind, r.Happened[kind]))
	}
	rows = append(rows, "", "why nodes came\tnodes")
	for _, why := range slices.Sorted(maps.Keys(r.Came)) {
		rows = append(rows, fmt.Sprintf("%s\t%d", why, r.Came[why]))
	}
	rows = append(rows, "", "why nodes went\tnodes")
	for _, why := range slices.Sorted(maps.Keys(r.Went)) {
		rows = append(rows, fmt.Sprintf("%s\t%d", why, r.Went[why]))
	}
	rows = append(rows, "",
		fmt.Sprintf("pods that ran\t%d", r.Pods),
		fmt.Sprintf("functions killed at their work\t%d", r.Killed),
		fmt.Sprintf("looks at the budget, of which %d in vain\t%d", r.Missed, r.Looks),
		fmt.Sprintf("guarded pods that ran at a time, of at least %d\t%d", guardedLeast, r.Least),
		fmt.Sprintf("from the end of the chaos until all was well\t%.0f s", r.Calm.Seconds()),
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

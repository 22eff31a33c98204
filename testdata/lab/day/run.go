package day

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/kubernetes"
	"github.com/whittle-dev/whittle/testdata/lab/laws"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
	"github.com/whittle-dev/whittle/testdata/lab/world"
)

const (
	// patience limits the time after the day until every pod runs. A batch that is late has some
	// tick intervals and a boot.
	patience = time.Minute
	// clearPatience limits the removal of the workload and of its nodes. Karpenter may have to start
	// anew meanwhile, because it exits when a busy machine costs it its Lease.
	clearPatience = 5 * time.Minute
)

// Options configure the days of a world.
type Options struct {
	Seed uint64
	Size Size
	// NodeRole is the nodes' role, in the class.
	NodeRole string
	// Number tells the days of a world apart, in the names of volumes.
	Number int
	Out    io.Writer
}

// day is a day in progress.
type day struct {
	world    *world.World
	client   *scenario.Client
	changed  time.Time
	rollouts int
	sick     string // the node that was made unhealthy
}

// Run starts an autoscaler in a world without nodes, lets it serve a day, and removes the workload.
// The autoscaler still runs afterwards.
func Run(ctx context.Context, w *world.World, who scenario.Autoscaler, options Options) (*Record, error) {
	setup, err := w.Scenario(io.Discard)
	if err != nil {
		return nil, err
	}
	d := &day{world: w, client: setup.Client}
	manifests := filepath.Join(setup.Root, "testdata", "manifests")
	if err := d.client.Apply(ctx, filepath.Join(manifests, "daypools.yaml"), map[string]string{
		"CLUSTER_NAME": setup.Name, "NODE_ROLE": options.NodeRole, "IMAGE": oldImage,
	}); err != nil {
		return nil, err
	}
	if err := who.Start(ctx); err != nil {
		return nil, fmt.Errorf("starting %s: %w", who.Name, err)
	}
	for _, pool := range []string{openPool, fullPool} {
		if err := scenario.WaitForPool(ctx, d.client, pool); err != nil {
			return nil, err
		}
	}
	if err := d.client.Apply(ctx, filepath.Join(manifests, "day.yaml"), map[string]string{
		"DAY": strconv.Itoa(options.Number),
	}); err != nil {
		return nil, err
	}
	record, err := d.serve(ctx, who, options)
	if err != nil {
		return nil, fmt.Errorf("the day of %s: %w", who.Name, err)
	}
	seen, err := d.client.Look(ctx, w.Instances)
	if err != nil {
		return nil, err
	}
	if wrong := laws.Broken(seen, laws.Always()); len(wrong) > 0 {
		return nil, fmt.Errorf("at the end of the day of %s: %s", who.Name, strings.Join(wrong, "; "))
	}
	return record, d.clear(ctx)
}

// serve follows the plan and records the day. Afterwards it waits until every pod runs.
func (d *day) serve(ctx context.Context, who scenario.Autoscaler, options Options) (*Record, error) {
	calls := sum(who.Calls())
	requests, err := who.Requests()
	if err != nil {
		return nil, err
	}
	watcher := newWatcher(d.client, d.world.EC2)
	watching, stop := context.WithCancel(ctx)
	var watched sync.WaitGroup
	watched.Go(func() { watcher.watch(watching) })
	defer func() {
		stop()
		watched.Wait()
	}()
	if err := d.follow(ctx, watcher.began, options); err != nil {
		return nil, err
	}
	record := watcher.record()
	if watcher.failure != nil {
		return nil, fmt.Errorf("recording the day: %w", watcher.failure)
	}
	record.Changed, record.Calls = d.changed, sum(who.Calls())-calls
	after, err := who.Requests()
	if err != nil {
		return nil, err
	}
	record.Requests = scenario.WithoutWatches(after) - scenario.WithoutWatches(requests)
	audited, err := d.world.Requests()
	if err != nil {
		return nil, err
	}
	record.Evictions = evictions(audited, record.Began, record.Ended)
	began := time.Now()
	err = scenario.Until(ctx, patience, "every pod of the day to run", d.served)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if record.Settled = time.Since(began); err != nil {
		record.Late = err.Error()
	}
	fmt.Fprintf(options.Out, "%-10s  the day was over for %.1f s %s\n", "24:00", record.Settled.Seconds(), record.Late)
	return record, nil
}

// follow carries out each step at its time.
func (d *day) follow(ctx context.Context, began time.Time, options Options) error {
	wait := func(until time.Duration) error {
		select {
		case <-time.After(time.Until(began.Add(until))):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, step := range Plan(options.Seed, options.Size) {
		if err := wait(step.At); err != nil {
			return err
		}
		did, err := d.act(ctx, step)
		if err != nil {
			return fmt.Errorf("step %q: %w", step, err)
		}
		if step.Kind != Scale {
			fmt.Fprintf(options.Out, "%-10s  %s %s\n", clock(step.At, options.Size), step, did)
		}
	}
	return wait(options.Size.Length)
}

// clock is the time of the day, such as 13:30.
func clock(at time.Duration, size Size) string {
	minutes := int(60 * float64(at) / float64(size.Hour()))
	return fmt.Sprintf("%02d:%02d", minutes/60, minutes%60)
}

func sum(counts map[string]int) int {
	total := 0
	for _, count := range counts {
		total += count
	}
	return total
}

// evictions are the removals of pods among the autoscaler's requests.
func evictions(requests []kubernetes.Request, from, to time.Time) []Eviction {
	var all []Eviction
	for _, request := range requests {
		evicts := request.Verb == "create" && request.Resource == "pods/eviction" ||
			request.Verb == "delete" && request.Resource == "pods"
		accepted := request.Status >= 200 && request.Status < 300
		if evicts && accepted && request.Namespace == namespace && !request.At.Before(from) && request.At.Before(to) {
			all = append(all, Eviction{At: request.At, Pod: request.Name})
		}
	}
	return all
}

// served reports whether each pod runs or has succeeded, and no Deployment or StatefulSet lacks one.
func (d *day) served(ctx context.Context) (bool, string, error) {
	deployments, err := d.client.Core.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, "", err
	}
	for i := range deployments.Items {
		one := &deployments.Items[i]
		if said := lacks("deployment "+one.Name, one.Status.AvailableReplicas, one.Spec.Replicas); said != "" {
			return false, said, nil
		}
	}
	sets, err := d.client.Core.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, "", err
	}
	for i := range sets.Items {
		one := &sets.Items[i]
		if said := lacks("statefulset "+one.Name, one.Status.AvailableReplicas, one.Spec.Replicas); said != "" {
			return false, said, nil
		}
	}
	pods, err := d.client.Pods(ctx, namespace, "")
	if err != nil {
		return false, "", err
	}
	for i := range pods {
		pod := &pods[i]
		runs := pod.Status.Phase == corev1.PodRunning || pod.Status.Phase == corev1.PodSucceeded
		if !runs || pod.DeletionTimestamp != nil {
			return false, fmt.Sprintf("pod %s of workload %s is %s on node %q (ending: %t)", pod.Name, pod.Labels[appLabel],
				pod.Status.Phase, pod.Spec.NodeName, pod.DeletionTimestamp != nil), nil
		}
	}
	return true, "", nil
}

// lacks says which pods an owner lacks; empty for none.
func lacks(owner string, have int32, want *int32) string {
	if want != nil && have < *want {
		return fmt.Sprintf("%s has %d available pods of %d", owner, have, *want)
	}
	return ""
}

// clear removes the workload and its nodes.
func (d *day) clear(ctx context.Context) error {
	background := metav1.DeletePropagationBackground
	deletion, all := metav1.DeleteOptions{PropagationPolicy: &background}, metav1.ListOptions{}
	core, apps := d.client.Core.CoreV1(), d.client.Core.AppsV1()
	for what, remove := range map[string]func() error{
		"Deployments":  func() error { return apps.Deployments(namespace).DeleteCollection(ctx, deletion, all) },
		"StatefulSets": func() error { return apps.StatefulSets(namespace).DeleteCollection(ctx, deletion, all) },
		"DaemonSets":   func() error { return apps.DaemonSets(namespace).DeleteCollection(ctx, deletion, all) },
		"Jobs": func() error {
			return d.client.Core.BatchV1().Jobs(namespace).DeleteCollection(ctx, deletion, all)
		},
		"claims of volumes": func() error {
			return core.PersistentVolumeClaims(namespace).DeleteCollection(ctx, deletion, all)
		},
		"volumes":    func() error { return core.PersistentVolumes().DeleteCollection(ctx, deletion, all) },
		"NodeClaims": func() error { return d.deleteClaims(ctx) },
	} {
		if err := remove(); err != nil {
			return fmt.Errorf("removing the day's %s: %w", what, err)
		}
	}
	return scenario.Until(ctx, clearPatience, "no pod, no volume, no claim, no node, no instance", d.empty)
}

func (d *day) deleteClaims(ctx context.Context) error {
	claims := d.client.Objects.Resource(api.NodeClaimGVR())
	return claims.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
}

// empty reports whether nothing of the day is left.
func (d *day) empty(ctx context.Context) (bool, string, error) {
	pods, err := d.client.Pods(ctx, namespace, "")
	if err != nil {
		return false, "", err
	}
	volumes, err := d.client.Core.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, "", err
	}
	claims, err := d.client.NodeClaims(ctx)
	if err != nil {
		return false, "", err
	}
	nodes, err := d.client.Nodes(ctx)
	if err != nil {
		return false, "", err
	}
	instances := d.world.InstancesAlive()
	return len(pods)+len(volumes.Items)+len(claims)+len(nodes)+instances == 0,
		fmt.Sprintf("%d pods, %d volumes, %d claims, %d nodes, %d instances", len(pods), len(volumes.Items), len(claims),
			len(nodes), instances), nil
}

package gangs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/gomodule"
	"github.com/whittle-dev/whittle/testdata/lab/kueue"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
)

const (
	namespace = "default"
	// atOnce is the number of gangs at a time. Each has nodes of its own, and all share one
	// shortage.
	atOnce = 50
	// patience is how long the gangs may take. Some shortages leave no place for some of them, so
	// that a round is over when nothing has changed for a while too.
	patience = 4 * time.Minute
	quiet    = 45 * time.Second
	// pollEvery is the time between two looks at the gangs.
	pollEvery = 500 * time.Millisecond
	// creators is the number of pods that are created at a time.
	creators = 16
)

// types are those of the NodePool in gangs.yaml.
func types() []string {
	var types []string
	for _, family := range []string{"c6i", "m6i", "r6i"} {
		for _, size := range []string{"large", "xlarge", "2xlarge", "4xlarge"} {
			types = append(types, family+"."+size)
		}
	}
	return types
}

// Run creates gangs, those of the seeds from 1 on, and judges each. It prints a line for each round
// of gangs, which has a shortage of its own.
func Run(ctx context.Context, setup scenario.Setup, service *ec2.Service, gangs int, out io.Writer) (Result, error) {
	if err := scenario.WaitForCatalog(ctx, setup.Cluster); err != nil {
		return Result{}, err
	}
	known, err := inventory.Catalog(ctx, setup.Cluster)
	if err != nil {
		return Result{}, err
	}
	var zones []string
	for _, zone := range known.Zones {
		zones = append(zones, zone.ZoneName)
	}
	if err := apply(ctx, setup); err != nil {
		return Result{}, err
	}
	var total Result
	for done := 0; done < gangs; done += atOnce {
		r := &round{client: setup.Client, out: out, gangs: map[string]*progress{}}
		for seed := done + 1; seed <= min(done+atOnce, gangs); seed++ {
			name := fmt.Sprintf("gang-%d", seed)
			r.gangs[name] = &progress{gang: Make(name, uint64(seed), zones), bound: map[string]bool{}}
		}
		service.Feed("", "", "")
		for _, short := range Short(uint64(done/atOnce), types(), zones) {
			service.Starve(short)
		}
		if err := forgetShortages(ctx, setup.Client); err != nil {
			return Result{}, err
		}
		began := time.Now()
		result, err := r.run(ctx)
		if err != nil {
			return Result{}, err
		}
		total.Add(result)
		_, err = fmt.Fprintf(out, "gangs %4d to %4d: %4d pods on %3d nodes, %2d whole, %d none, %d in part, "+
			"%d nodes returned, %4.1f s at most without a pod, %5.1f s\n", done+1, done+result.Gangs, result.Pods,
			result.Nodes, result.Whole, result.None, result.InPart, result.Returned, result.LongestAlone.Seconds(),
			time.Since(began).Seconds())
		if err != nil {
			return Result{}, err
		}
	}
	return total, nil
}

// apply makes the pool, and defines PodGroups as scheduler-plugins does.
func apply(ctx context.Context, setup scenario.Setup) error {
	role, err := setup.World.NodeRole()
	if err != nil {
		return err
	}
	pool := filepath.Join(setup.Root, "testdata", "manifests", "gangs.yaml")
	variables := map[string]string{"CLUSTER_NAME": setup.Name, "NODE_ROLE": role}
	if err := setup.Client.Apply(ctx, pool, variables); err != nil {
		return err
	}
	folder, err := gomodule.Folder(ctx, kueue.Folder(setup.Root), "sigs.k8s.io/scheduler-plugins")
	if err != nil {
		return err
	}
	definition := filepath.Join(folder, "config", "crd", "bases", "scheduling.x-k8s.io_podgroups.yaml")
	if err := setup.Client.Apply(ctx, definition, nil); err != nil {
		return err
	}
	return scenario.Until(ctx, patience, "PodGroups to be served", func(ctx context.Context) (bool, string, error) {
		if _, err := setup.Client.Objects.Resource(api.PodGroupGVR()).List(ctx, metav1.ListOptions{}); err != nil {
			return false, err.Error(), nil
		}
		return true, "", nil
	})
}

// forgetShortages removes what was learned in the last round, so that EC2 surprises Whittle again.
func forgetShortages(ctx context.Context, client *scenario.Client) error {
	err := client.Core.CoreV1().ConfigMaps("whittle-system").
		Delete(ctx, "whittle-unavailable-offerings", metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// progress is a gang and what is known of it.
type progress struct {
	gang   Gang
	claims []Claim
	bound  map[string]bool // pods, by name
	whole  time.Time       // when all pods were bound
}

// round are the gangs that are there together.
type round struct {
	client *scenario.Client
	out    io.Writer
	gangs  map[string]*progress
}

// run creates the gangs and follows them until each has its nodes, or the time is over. It ends
// them then.
func (r *round) run(ctx context.Context) (Result, error) {
	if err := r.create(ctx); err != nil {
		return Result{}, err
	}
	waited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	steps, changed := 0, time.Now()
	for {
		now := time.Now()
		complete, seen, err := r.look(ctx, now)
		if err != nil {
			return Result{}, err
		}
		if seen > steps {
			steps, changed = seen, now
		}
		if complete || now.Sub(changed) > quiet || waited.Err() != nil {
			break
		}
		select {
		case <-ticker.C:
		case <-waited.Done():
		}
	}
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	var result Result
	for name, of := range r.gangs {
		judged := Judge(len(of.gang.Pods), len(of.bound), of.claims, cmp.Or(of.whole, time.Now()))
		if err := judged.Check(); err != nil {
			// This is for the reader who looks for the cause.
			_, _ = fmt.Fprintf(r.out, "%s, %d of %d pods bound: %v\n%+v\n",
				name, len(of.bound), len(of.gang.Pods), err, of.claims)
		}
		result.Add(judged)
	}
	return result, r.end(ctx)
}

// create creates the PodGroups, and then the pods.
func (r *round) create(ctx context.Context) error {
	var group errgroup.Group
	group.SetLimit(creators)
	for _, of := range r.gangs {
		_, err := r.client.Objects.Resource(api.PodGroupGVR()).Namespace(namespace).
			Create(ctx, of.gang.Group, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	for _, of := range r.gangs {
		for _, pod := range of.gang.Pods {
			group.Go(func() error {
				_, err := r.client.Core.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
				return err
			})
		}
	}
	return group.Wait()
}

// look reads the claims and the pods. It returns whether all pods have a node, and the number of
// steps that the gangs have taken so far.
func (r *round) look(ctx context.Context, now time.Time) (complete bool, steps int, err error) {
	claims, err := r.client.NodeClaims(ctx)
	if err != nil {
		return false, 0, err
	}
	pods, err := r.client.Pods(ctx, namespace, GangLabel)
	if err != nil {
		return false, 0, err
	}
	complete = true
	for name, of := range r.gangs {
		of.note(name, claims, pods, now)
		complete = complete && len(of.bound) == len(of.gang.Pods)
		steps += len(of.bound)
		for _, claim := range of.claims {
			steps += claim.steps()
		}
	}
	return complete, steps, nil
}

// note remembers what a look at the cluster says of the gang.
func (p *progress) note(name string, claims []api.NodeClaim, pods []corev1.Pod, now time.Time) {
	used := map[string]bool{} // nodes
	for i := range pods {
		if node := pods[i].Spec.NodeName; pods[i].Labels[GangLabel] == name && node != "" {
			p.bound[pods[i].Name], used[node] = true, true
		}
	}
	first(&p.whole, len(p.bound) == len(p.gang.Pods), now)
	there := map[string]bool{}
	for i := range claims {
		claim := &claims[i]
		if claim.Labels[GangLabel] != name {
			continue
		}
		at := slices.IndexFunc(p.claims, func(c Claim) bool { return c.Name == claim.Name })
		if at < 0 {
			at = len(p.claims)
			p.claims = append(p.claims, Claim{Name: claim.Name})
		}
		known := &p.claims[at]
		known.Node = claim.Status.NodeName
		first(&known.Launched, claim.Status.ProviderID != "", now)
		first(&known.Used, used[claim.Status.NodeName], now)
		there[claim.Name] = claim.DeletionTimestamp == nil
	}
	for i := range p.claims {
		first(&p.claims[i].Gone, !there[p.claims[i].Name], now)
	}
}

// first sets the time at which something was seen first.
func first(at *time.Time, seen bool, now time.Time) {
	if seen && at.IsZero() {
		*at = now
	}
}

// end deletes the pods, their groups and the claims.
func (r *round) end(ctx context.Context) error {
	now := int64(0)
	all := metav1.ListOptions{LabelSelector: GangLabel}
	options := metav1.DeleteOptions{GracePeriodSeconds: &now}
	if err := r.client.Core.CoreV1().Pods(namespace).DeleteCollection(ctx, options, all); err != nil {
		return err
	}
	objects := r.client.Objects
	err := objects.Resource(api.PodGroupGVR()).Namespace(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, all)
	if err != nil {
		return err
	}
	return objects.Resource(api.NodeClaimGVR()).DeleteCollection(ctx, metav1.DeleteOptions{}, all)
}

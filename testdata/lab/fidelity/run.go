package fidelity

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
)

const (
	namespace = "default"
	// atOnce is the number of bursts at a time. They share nothing but the plan: each has nodes of its
	// own. Their waits for machines overlap.
	atOnce = 4
	// patience is how long a burst may take. Then its pods without a node are counted.
	patience = 3 * time.Minute
	// pollEvery is the time between two looks at a burst.
	pollEvery = 200 * time.Millisecond
	// planned is how long after its last pod a burst is surely planned. Machines take longer to boot.
	planned = 4 * time.Second
	// lateAgent is how long after its last pod a late DaemonSet comes.
	lateAgent = 2 * time.Second
	// creators is the number of pods of a burst that are created at a time.
	creators = 16
)

// Run creates bursts, those of the seeds from the first on, and judges each. It prints a line for
// each burst.
func Run(ctx context.Context, setup scenario.Setup, bursts int, first uint64, out io.Writer) (Report, error) {
	var total Report
	if err := scenario.WaitForCatalog(ctx, setup.Cluster); err != nil {
		return total, err
	}
	known, err := inventory.Catalog(ctx, setup.Cluster)
	if err != nil {
		return total, err
	}
	role, err := setup.World.NodeRole()
	if err != nil {
		return total, err
	}
	manifest := filepath.Join(setup.Root, "testdata", "manifests", "fidelity.yaml")
	variables := map[string]string{"CLUSTER_NAME": setup.Name, "NODE_ROLE": role}
	if err := setup.Client.Apply(ctx, manifest, variables); err != nil {
		return total, err
	}
	var (
		mutex sync.Mutex
		group errgroup.Group
	)
	group.SetLimit(atOnce)
	for i := range bursts {
		group.Go(func() error {
			seed := first + uint64(i)
			b := &burst{client: setup.Client, known: known, name: fmt.Sprintf("burst-%d", seed)}
			began := time.Now()
			result, err := b.run(ctx, seed)
			if err != nil {
				return fmt.Errorf("burst %d: %w", seed, err)
			}
			mutex.Lock()
			defer mutex.Unlock()
			return total.add(out, b, AgentOf(seed) == LateAgent, result, time.Since(began))
		})
	}
	err = group.Wait()
	return total, err
}

// burst is a burst in progress.
type burst struct {
	client *scenario.Client
	known  *catalog.Catalog
	name   string
	claims []Claim
	bound  bool              // whether a pod was bound
	began  time.Time         // when all pods had been created
	nodes  map[string]string // of the pods, by UID
	// refused has the pods that have failed, by their reason: no container of a burst ends.
	refused map[string]int
}

func (b *burst) selector() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: BurstLabel + "=" + b.name}
}

// run creates the pods and follows them until all have a node. It leaves the end of the nodes to
// Whittle, beside the next burst.
func (b *burst) run(ctx context.Context, seed uint64) (Result, error) {
	pods := Pods(b.name, seed)
	if err := b.own(ctx, pods); err != nil {
		return Result{}, err
	}
	if AgentOf(seed) == AgentInTime {
		if err := b.startAgent(ctx); err != nil {
			return Result{}, err
		}
	}
	var group errgroup.Group
	group.SetLimit(creators)
	for _, pod := range pods {
		group.Go(func() error {
			_, err := b.client.Core.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return Result{}, err
	}
	b.began = time.Now()
	if err := b.follow(ctx, len(pods), AgentOf(seed) == LateAgent); err != nil {
		return Result{}, err
	}
	result := Judge(b.claims, b.nodes)
	result.Refused, result.Preempted = b.refused, len(pods)-len(b.nodes)
	return result, b.end(ctx)
}

// follow looks at the burst until each pod has a node, or has been preempted. It creates the late agent.
func (b *burst) follow(ctx context.Context, pods int, late bool) error {
	waited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		if late && time.Since(b.began) > lateAgent {
			if err := b.startAgent(ctx); err != nil {
				return err
			}
			late = false
		}
		placed, err := b.look(ctx)
		if err != nil {
			return err
		}
		if placed == min(pods, len(b.nodes)) && b.joined() || waited.Err() != nil {
			return ctx.Err()
		}
		select {
		case <-ticker.C:
		case <-waited.Done():
		}
	}
}

func (b *burst) startAgent(ctx context.Context) error {
	_, err := b.client.Core.AppsV1().DaemonSets(namespace).Create(ctx, daemonSet(b.name), metav1.CreateOptions{})
	return err
}

// own gives the pods a controller, because a pod that nobody makes again waits for its kubelet. The controller is
// an object that does nothing, so that no pod is made again.
func (b *burst) own(ctx context.Context, pods []*corev1.Pod) error {
	owner, err := b.client.Core.CoreV1().ConfigMaps(namespace).Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: b.name}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	controller := true
	for _, pod := range pods {
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: &controller,
		}}
	}
	return nil
}

// joined reports whether the claims tell which nodes are theirs. Pods are bound to a node before that.
func (b *burst) joined() bool {
	return !slices.ContainsFunc(b.claims, func(claim Claim) bool { return claim.Node == "" })
}

// look reads the claims and the pods of the burst, and returns how many pods have a node. It reads the
// claims first, so that one that it has not seen may have come after the first binding.
func (b *burst) look(ctx context.Context) (placed int, err error) {
	claims, err := b.client.NodeClaims(ctx)
	if err != nil {
		return 0, err
	}
	for i := range claims {
		if claims[i].Labels[BurstLabel] == b.name {
			b.note(&claims[i])
		}
	}
	pods, err := b.client.Pods(ctx, namespace, BurstLabel+"="+b.name)
	if err != nil {
		return 0, err
	}
	b.nodes, b.refused = map[string]string{}, map[string]int{}
	for i := range pods {
		if pods[i].Status.Phase == corev1.PodFailed {
			b.refused[pods[i].Status.Reason]++
		}
		b.nodes[string(pods[i].UID)] = pods[i].Spec.NodeName
		if pods[i].Spec.NodeName != "" {
			placed++
		}
	}
	b.bound = b.bound || placed > 0
	return placed, nil
}

// note remembers the claim as it is now.
func (b *burst) note(claim *api.NodeClaim) {
	at := slices.IndexFunc(b.claims, func(c Claim) bool { return c.Name == claim.Name })
	if at < 0 {
		at = len(b.claims)
		b.claims = append(b.claims, Claim{
			Name: claim.Name, Second: b.bound && time.Since(b.began) > planned,
			Pods: strings.Split(claim.Annotations[api.NominatedPodsAnnotationKey], ","),
		})
	}
	b.claims[at].Node = claim.Status.NodeName
	if claim.Labels[corev1.LabelInstanceTypeStable] != "" {
		b.claims[at].Price, _ = b.known.Price(claim.Labels)
	}
}

// end deletes the pods, their agent and the claims.
func (b *burst) end(ctx context.Context) error {
	now := int64(0)
	options := metav1.DeleteOptions{GracePeriodSeconds: &now}
	defer func() {
		_ = b.client.Core.CoreV1().ConfigMaps(namespace).Delete(ctx, b.name, metav1.DeleteOptions{})
	}()
	err := b.client.Core.AppsV1().DaemonSets(namespace).Delete(ctx, b.name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err := b.client.Core.CoreV1().Pods(namespace).DeleteCollection(ctx, options, b.selector()); err != nil {
		return err
	}
	return b.client.Objects.Resource(api.NodeClaimGVR()).DeleteCollection(ctx, metav1.DeleteOptions{}, b.selector())
}

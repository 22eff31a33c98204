package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/infra/local/ec2"
	"github.com/whittle-dev/whittle/infra/local/scenario"
	"github.com/whittle-dev/whittle/shared/api"
)

const (
	// lookEvery is the interval between two reads of the cluster.
	lookEvery = 250 * time.Millisecond
	// lookPatience limits one read, because the control plane may be down.
	lookPatience = 5 * time.Second
	// guardedSelector selects the pods of the disruption budget; guardedLeast is the budget's
	// minimum.
	guardedSelector = "app=guarded"
	guardedLeast    = 4
)

// limits returns the limits of the NodePools that have any, in processors.
func limits() map[string]resource.Quantity {
	return map[string]resource.Quantity{"shaky": resource.MustParse("40")}
}

// watcher reads the cluster repeatedly and records violations.
type watcher struct {
	client *scenario.Client
	ec2    *ec2.Service

	mutex      sync.Mutex
	claims     map[string]bool // by name: whether it is there still
	looks      int
	missed     int // looks at a control plane that did not answer
	least      int // of the guarded pods that ran at a time, once enough of them did
	complete   bool
	violations []string
	pods       map[string]bool   // that ran, by UID
	protected  map[string]string // pods that must stay, by UID
	recovered  bool
	bereft     map[string]bool // claims without a live instance at the last look, after the recovery
}

func newWatcher(client *scenario.Client, instances *ec2.Service) *watcher {
	return &watcher{
		client: client, ec2: instances, claims: map[string]bool{}, pods: map[string]bool{}, protected: map[string]string{},
	}
}

// watch reads until the context ends.
func (w *watcher) watch(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.look(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (w *watcher) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	seen, err := w.read(ctx)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.looks++
	if err != nil {
		w.missed++
		return
	}
	for name := range w.claims {
		w.claims[name] = false
	}
	for i := range seen.claims {
		w.claims[seen.claims[i].Name] = true
	}
	for i := range seen.pods {
		if seen.pods[i].Status.Phase == corev1.PodRunning {
			w.pods[string(seen.pods[i].UID)] = true
		}
	}
	w.guard(seen)
	for _, wrong := range slices.Concat(
		seen.doubled(), seen.detached(), seen.exceeded(limits()), seen.evicted(w.protected), seen.outside(), seen.shared(),
	) {
		w.violate(wrong)
	}
	if w.recovered {
		w.checkLive(seen)
	}
}

// read reads the cluster, and EC2 last: the instance of a running pod is then still listed. The pods
// come before the nodes for the same reason.
func (w *watcher) read(ctx context.Context) (*sight, error) {
	seen := &sight{}
	var err error
	if seen.claims, err = w.client.NodeClaims(ctx); err != nil {
		return nil, err
	}
	if seen.pods, err = w.client.Pods(ctx, "default", ""); err != nil {
		return nil, err
	}
	if seen.nodes, err = w.client.Nodes(ctx); err != nil {
		return nil, err
	}
	volumes, err := w.client.Core.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	attachments, err := w.client.Core.StorageV1().VolumeAttachments().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	seen.volumes, seen.attachments, seen.instances = volumes.Items, attachments.Items, w.ec2.Instances()
	return seen, nil
}

// violate records a violation once.
func (w *watcher) violate(said string) {
	if !slices.Contains(w.violations, said) {
		w.violations = append(w.violations, said)
	}
}

// recover begins the time in which each claim has a live instance.
func (w *watcher) recover() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.recovered = true
}

// checkLive reports claims that were launched, stay, and have no live instance at two looks. A claim
// may end between the reads of one look.
func (w *watcher) checkLive(seen *sight) {
	bereft := map[string]bool{}
	for i := range seen.claims {
		claim := &seen.claims[i]
		id := claim.Status.ProviderID
		if claim.DeletionTimestamp != nil || id == "" || slices.ContainsFunc(seen.instances, func(i ec2.Instance) bool {
			return i.ProviderID() == id && live(&i)
		}) {
			continue
		}
		bereft[claim.Name] = true
		if w.bereft[claim.Name] {
			w.violate(fmt.Sprintf("after the recovery nodeclaim %s has no live instance (%s)", claim.Name, id))
		}
	}
	w.bereft = bereft
}

// guard checks the budget. The guarded pods are on nodes that only Whittle removes.
func (w *watcher) guard(seen *sight) {
	pods, nodes := seen.pods, seen.nodes
	alive := map[string]bool{}
	for _, instance := range seen.instances {
		alive[instance.ProviderID()] = instance.State == ec2.Running
	}
	running := 0
	for i := range pods {
		pod := &pods[i]
		at := slices.IndexFunc(nodes, func(node corev1.Node) bool { return node.Name == pod.Spec.NodeName })
		if pod.Labels["app"] == "guarded" && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning &&
			at >= 0 && alive[nodes[at].Spec.ProviderID] {
			running++
		}
	}
	switch {
	case !w.complete:
		// The budget counts from the moment at which all guarded pods have run.
		w.complete = running >= guardedLeast+2
		w.least = running
	case running < guardedLeast:
		w.violations = append(w.violations,
			fmt.Sprintf("%s: %d of the guarded pods ran, of at least %d", time.Now().Format(time.TimeOnly), running,
				guardedLeast))
	}
	w.least = min(w.least, running)
}

// known returns all claims that were seen, and whether each still exists.
func (w *watcher) known() map[string]bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	known := map[string]bool{}
	for name, there := range w.claims {
		known[name] = there
	}
	return known
}

// settled says what the recovered state still lacks; empty for nothing.
func (w *watcher) settled(ctx context.Context) (string, error) {
	seen, err := w.read(ctx)
	if err != nil {
		return "", err
	}
	for _, lacks := range []func() string{
		func() string { return notRunning(seen.pods) }, seen.unready, seen.mismatched, seen.unattached,
	} {
		if said := lacks(); said != "" {
			return said, nil
		}
	}
	return "", nil
}

// unready describes the first claim, instance or node that is not part of a recovered world; empty for
// none.
func (s *sight) unready() string {
	owners := map[string]bool{}
	for i := range s.claims {
		claim := &s.claims[i]
		if claim.DeletionTimestamp != nil || !api.ConditionTrue(claim.Status.Conditions, api.ConditionReady) {
			return fmt.Sprintf("nodeclaim %s is not ready (ending: %t)", claim.Name, claim.DeletionTimestamp != nil)
		}
		owners[claim.Status.ProviderID] = true
	}
	for i := range s.instances {
		if instance := &s.instances[i]; instance.State != ec2.Terminated && !live(instance) {
			return fmt.Sprintf("instance %s is %s", instance.ID, instance.State)
		}
	}
	for i := range s.nodes {
		if !owners[s.nodes[i].Spec.ProviderID] {
			return fmt.Sprintf("node %s has no nodeclaim", s.nodes[i].Name)
		}
	}
	if len(s.nodes) != len(s.claims) {
		return fmt.Sprintf("%d nodes and %d nodeclaims", len(s.nodes), len(s.claims))
	}
	return ""
}

// notRunning describes the first pod that does not run; empty for none.
func notRunning(pods []corev1.Pod) string {
	for i := range pods {
		if pod := &pods[i]; pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning {
			return fmt.Sprintf("pod %s on node %q is %s (ending: %t)", pod.Name, pod.Spec.NodeName, pod.Status.Phase,
				pod.DeletionTimestamp != nil)
		}
	}
	return ""
}

package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/laws"
	"github.com/whittle-dev/whittle/testdata/lab/scenario"
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
	seen, err := w.client.Look(ctx, w.ec2.Instances)
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
	for _, claim := range seen.Claims {
		w.claims[claim.Name] = true
	}
	for _, pod := range seen.Pods {
		if pod.Status.Phase == corev1.PodRunning {
			w.pods[string(pod.UID)] = true
		}
	}
	w.guard(seen)
	for _, wrong := range append(laws.Broken(seen, laws.Always()), evicted(seen.Pods, w.protected)...) {
		w.violate(wrong)
	}
	if w.recovered {
		w.checkLive(seen)
	}
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
func (w *watcher) checkLive(seen *laws.World) {
	bereft := map[string]bool{}
	for _, claim := range seen.Claims {
		id := claim.Status.ProviderID
		if claim.DeletionTimestamp != nil || id == "" || slices.ContainsFunc(seen.Instances, func(i ec2.Instance) bool {
			return i.ProviderID() == id && laws.Live(&i)
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
func (w *watcher) guard(seen *laws.World) {
	alive := map[string]bool{}
	for _, instance := range seen.Instances {
		alive[instance.ProviderID()] = instance.State == ec2.Running
	}
	running := 0
	for _, pod := range seen.Pods {
		at := slices.IndexFunc(seen.Nodes, func(node *corev1.Node) bool { return node.Name == pod.Spec.NodeName })
		if pod.Labels["app"] == "guarded" && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning &&
			at >= 0 && alive[seen.Nodes[at].Spec.ProviderID] {
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
	seen, err := w.client.Look(ctx, w.ec2.Instances)
	if err != nil {
		return "", err
	}
	lacks := notRunning(seen.Pods)
	if lacks == "" {
		lacks = unready(seen)
	}
	if lacks == "" {
		lacks = strings.Join(laws.Broken(seen, laws.AtRest()), "; ")
	}
	return lacks, nil
}

// unready describes the first claim that is not ready, or the first instance that changes its state; empty
// for none.
func unready(seen *laws.World) string {
	for _, claim := range seen.Claims {
		if claim.DeletionTimestamp != nil || !api.ConditionTrue(claim.Status.Conditions, api.ConditionReady) {
			return fmt.Sprintf("nodeclaim %s is not ready (ending: %t)", claim.Name, claim.DeletionTimestamp != nil)
		}
	}
	for i := range seen.Instances {
		if instance := &seen.Instances[i]; instance.State != ec2.Terminated && !laws.Live(instance) {
			return fmt.Sprintf("instance %s is %s", instance.ID, instance.State)
		}
	}
	if len(seen.Nodes) != len(seen.Claims) {
		return fmt.Sprintf("%d nodes and %d nodeclaims", len(seen.Nodes), len(seen.Claims))
	}
	return ""
}

// notRunning describes the first pod that does not run; empty for none.
func notRunning(pods []*corev1.Pod) string {
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning {
			return fmt.Sprintf("pod %s on node %q is %s (ending: %t)", pod.Name, pod.Spec.NodeName, pod.Status.Phase,
				pod.DeletionTimestamp != nil)
		}
	}
	return ""
}

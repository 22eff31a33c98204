package product_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/kubelet"
	"github.com/whittle-dev/whittle/testdata/lab/simulate"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/engine"
)

// These tests are Karpenter's end-to-end specifications about drains (test/suites/disruption of its
// version 1.15), told in virtual time. The functions are the real ones, and package kubelet ends
// the pods.

// drain is a node that is drained, with what became of it.
type drain struct {
	*testing.T
	grace  string       // the pool's termination grace period; empty for none
	pods   []corev1.Pod // those of DaemonSets have a label
	budget bool         // one that allows no eviction of the first pod
	ends   string       // the pod that somebody deletes just before

	began    time.Time            // when the NodeClaim was deleted
	deleted  map[string]time.Time // when each pod was first deleted
	until    map[string]time.Time // when its grace ends, by the last of its deletions
	gone     map[string]time.Time // when each pod was gone
	ended    time.Time            // when the instance was being terminated
	released time.Time            // when the NodeClaim was gone
}

// daemonLabel is on the pods of DaemonSets.
const daemonLabel = "daemon"

// draining is a pod with a grace period in seconds, and a preStop hook that takes as long, unless a
// change says otherwise. Its program ignores SIGTERM.
func draining(name string, grace int64, changes ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: metav1.NamespaceDefault, Labels: map[string]string{"app": name},
		Annotations: map[string]string{kubelet.StopFor: kubelet.Never},
	}}
	pod.Status.Phase = corev1.PodPending
	pod.Spec.TerminationGracePeriodSeconds, pod.Spec.SchedulerName = &grace, corev1.DefaultSchedulerName
	pod.Spec.Containers = []corev1.Container{{
		Name: "main", Image: "alpine", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("100Mi"),
		}},
	}}
	sleep(grace)(&pod)
	for _, change := range changes {
		change(&pod)
	}
	return pod
}

func sleep(seconds int64) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
			Exec: &corev1.ExecAction{Command: []string{"/bin/sh", "-c", fmt.Sprint("sleep ", seconds)}},
		}}
	}
}

func daemon(pod *corev1.Pod) { pod.Labels[daemonLabel] = pod.Name }

func class(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.PriorityClassName = name }
}

func kept(pod *corev1.Pod) { pod.Annotations[api.DoNotDisruptAnnotationKey] = "true" }

// run lets provision launch a node for the pods, and deletes its NodeClaim when all of them run.
func (d *drain) run(t *testing.T, seed uint64) {
	if os.Getenv("SIMULATE_SCENES") == "" {
		t.Skip("this is for make simulate: without the overlay, a goroutine that waits for a mutex stops the time")
	}
	d.T = t
	quiet()
	d.deleted, d.until, d.gone = map[string]time.Time{}, map[string]time.Time{}, map[string]time.Time{}
	d.began, d.ended, d.released = time.Time{}, time.Time{}, time.Time{}
	result := simulated(t, simulate.Options{Seed: seed, Minutes: 30, Start: start, Keep: true, Scene: d.tell})
	if d.released.IsZero() || len(result.Violations) > 0 {
		lines := result.Trace[max(0, len(result.Trace)-40):]
		t.Fatalf("the drain does not end; %q; the last lines are\n%s", result.Violations, strings.Join(lines, "\n"))
	}
	for i := range d.pods {
		name := d.pods[i].Name
		t.Logf("%s is deleted after %s until %s, and gone after %s", name, d.deleted[name].Sub(d.began),
			d.until[name].Sub(d.began), d.gone[name].Sub(d.began))
	}
	t.Logf("the instance ends after %s, the claim is gone after %s", d.ended.Sub(d.began), d.released.Sub(d.began))
}

// tell is the scene.
func (d *drain) tell(store *apiserver.Store, e *engine.Engine) {
	d.create(store, apiserver.NodePools, d.pool())
	for i := range d.pods {
		pod := &d.pods[i]
		if pod.Labels[daemonLabel] == "" {
			d.create(store, apiserver.Pods, pod)
			continue
		}
		set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}}
		set.Spec.Selector = &metav1.LabelSelector{MatchLabels: pod.Labels}
		set.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{
			Labels: pod.Labels, Annotations: pod.Annotations,
		}, Spec: pod.Spec}
		d.create(store, apiserver.DaemonSets, set)
	}
	if d.budget {
		none := intstr.FromInt32(0)
		d.create(store, apiserver.Budgets, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Name: d.pods[0].Name, Namespace: metav1.NamespaceDefault},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: d.pods[0].Labels},
			},
		})
	}
	store.Listen(d.watch)
	e.Every(time.Second, time.Second, func() { d.begin(store) })
}

func (d *drain) create(store *apiserver.Store, kind *apiserver.Kind, object any) {
	if _, err := store.Create(kind, object); err != nil {
		d.Errorf("a %s cannot be made: %v", kind.Name, err)
	}
}

// pool is a NodePool whose nodes nothing but the test ends.
func (d *drain) pool() map[string]any {
	template := map[string]any{
		"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
		"requirements": []any{map[string]any{
			"key": api.CapacityTypeLabelKey, "operator": "In", "values": []any{api.CapacityTypeOnDemand},
		}},
		"expireAfter": "Never",
	}
	if d.grace != "" {
		template["terminationGracePeriod"] = d.grace
	}
	return map[string]any{"metadata": map[string]any{"name": "default"}, "spec": map[string]any{
		"template": map[string]any{"spec": template},
		"disruption": map[string]any{
			"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never", "budgets": []any{map[string]any{"nodes": "1"}},
		},
	}}
}

// nameOf is the name that the test has for a pod.
func nameOf(pod *corev1.Pod) string { return pod.Labels["app"] }

// watch notes what becomes of the pods and of the claim.
func (d *drain) watch(change apiserver.Change) {
	object := change.After
	if object == nil {
		object = change.Before
	}
	switch value := object.Typed.(type) {
	case *corev1.Pod:
		name := nameOf(value)
		if change.After == nil {
			d.gone[name] = time.Now()
		} else if value.DeletionTimestamp != nil {
			if d.deleted[name].IsZero() {
				d.deleted[name] = time.Now()
			}
			d.until[name] = value.DeletionTimestamp.Time
		}
	case *api.NodeClaim:
		if d.ended.IsZero() && api.ConditionTrue(value.Status.Conditions, api.ConditionTypeInstanceTerminating) {
			d.ended = time.Now()
		}
		if change.After == nil && d.released.IsZero() {
			d.released = time.Now()
			for i := range d.pods {
				if d.gone[d.pods[i].Name].IsZero() {
					d.Errorf("the claim is gone, and the pod %s is there", d.pods[i].Name)
				}
			}
		}
	}
}

// begin deletes the claim once all pods run on its initialized node.
func (d *drain) begin(store *apiserver.Store) {
	if !d.began.IsZero() {
		return
	}
	ready := 0
	for _, pod := range apiserver.List[corev1.Pod](store, apiserver.Pods) {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	claims := apiserver.List[api.NodeClaim](store, apiserver.NodeClaims)
	if ready < len(d.pods) || len(claims) != 1 ||
		!api.ConditionTrue(claims[0].Status.Conditions, api.ConditionTypeInitialized) {
		return
	}
	d.began = time.Now()
	if d.ends != "" {
		store.Delete(store.Get(apiserver.Pods, metav1.NamespaceDefault, d.ends), nil)
	}
	store.Delete(store.Get(apiserver.NodeClaims, "", claims[0].Name), nil)
}

// within fails the test where a time after the deletion of the claim is none of those expected.
func (d *drain) within(what string, at time.Time, least, most time.Duration) {
	d.Helper()
	if after := at.Sub(d.began); at.IsZero() || after < least || after > most {
		d.Errorf("%s after %s, want between %s and %s", what, after, least, most)
	}
}

// lasts fails the test where the time from the deletion of a pod to its end is another one.
func (d *drain) lasts(name string, least, most time.Duration) {
	d.Helper()
	if took := d.gone[name].Sub(d.deleted[name]); took < least || took > most {
		d.Errorf("the pod %s ends %s after its deletion, want between %s and %s", name, took, least, most)
	}
}

// lastsUntil fails the test where the pod's grace, or its instance, ends earlier or later than the
// limit. A kubelet gives the pod two seconds more, in which the instance goes.
func (d *drain) lastsUntil(name string, limit time.Duration) {
	d.Helper()
	d.within("the grace of the pod "+name+" ends", d.until[name], limit-4*time.Second, limit+2*time.Second)
	d.within("the instance ends", d.ended, limit-time.Second, limit+15*time.Second)
}

// seeds are those of each drain: the functions are invoked at other moments in each.
func seeds() []uint64 { return []uint64{1, 2, 3} }

// TestDrainsKeepTheOrderOfGroups is Karpenter's "should drain pods on a node in order". Each group
// has gone before the next one is deleted, and each pod has the time that its preStop hook needs.
func TestDrainsKeepTheOrderOfGroups(t *testing.T) {
	groups := [][]string{
		{"deployment"}, {"daemonset"}, {"node-critical-deployment", "cluster-critical-deployment"},
		{"node-critical-daemonset", "cluster-critical-daemonset"},
	}
	const node, cluster = "system-node-critical", "system-cluster-critical"
	d := &drain{pods: []corev1.Pod{
		draining("deployment", 60), draining("daemonset", 60, daemon),
		draining("node-critical-deployment", 60, class(node)), draining("cluster-critical-deployment", 60, class(cluster)),
		draining("node-critical-daemonset", 10, class(node), daemon),
		draining("cluster-critical-daemonset", 10, class(cluster), daemon),
	}}
	for _, seed := range seeds() {
		d.run(t, seed)
		last := d.began
		for _, group := range groups {
			for _, name := range group {
				if begins := d.deleted[name].Sub(last); begins < 0 || begins > 30*time.Second {
					t.Errorf("the pod %s is deleted %s after the last one of the group before is gone", name, begins)
				}
				hook := 60 * time.Second
				if strings.HasSuffix(name, "critical-daemonset") {
					hook = 10 * time.Second
				}
				d.lasts(name, hook, hook+2*time.Second)
			}
			for _, name := range group {
				if d.gone[name].After(last) {
					last = d.gone[name]
				}
			}
		}
	}
}

// TestDrainsEndWithTheGracePeriod has pods that would outlive their node. The pool's termination
// grace period is a minute.
func TestDrainsEndWithTheGracePeriod(t *testing.T) {
	const limit, late = 60 * time.Second, 5 * time.Second
	for _, test := range []struct {
		name   string
		drain  drain
		expect func(d *drain)
	}{{
		// "should delete pod with do-not-disrupt when it reaches its terminationGracePeriodSeconds"
		name:  "do-not-disrupt holds until the pod's own grace period is all that is left",
		drain: drain{pods: []corev1.Pod{draining("pod", 30, kept)}}, expect: func(d *drain) {
			d.within("the pod is deleted", d.deleted["pod"], limit-30*time.Second-late, limit-30*time.Second+late)
			d.lastsUntil("pod", limit)
		},
	}, {
		// "should delete pod that has a pre-stop hook after termination grace period seconds"
		name:  "a preStop hook that is longer than the pod's grace period ends with it",
		drain: drain{pods: []corev1.Pod{draining("pod", 30, sleep(300))}}, expect: func(d *drain) {
			d.within("the pod is deleted", d.deleted["pod"], 0, 15*time.Second)
			d.lasts("pod", 30*time.Second, 32*time.Second)
		},
	}, {
		name:  "a pod whose hook and grace period are longer than the node's deadline is deleted at once",
		drain: drain{pods: []corev1.Pod{draining("pod", 300)}}, expect: func(d *drain) {
			d.within("the pod is deleted", d.deleted["pod"], 0, 15*time.Second)
			d.lastsUntil("pod", limit)
		},
	}, {
		name:  "a disruption budget that allows nothing holds as long as do-not-disrupt",
		drain: drain{budget: true, pods: []corev1.Pod{draining("pod", 20)}}, expect: func(d *drain) {
			d.within("the pod is deleted", d.deleted["pod"], limit-20*time.Second-late, limit-20*time.Second+late)
			d.lastsUntil("pod", limit)
		},
	}, {
		name:  "a pod that is ending already, and for longer, gets what is left",
		drain: drain{ends: "pod", pods: []corev1.Pod{draining("pod", 600)}}, expect: func(d *drain) {
			d.lastsUntil("pod", limit)
		},
	}, {
		name: "a later group is deleted early enough, while the first one takes the whole time",
		drain: drain{pods: []corev1.Pod{
			draining("pod", 55), draining("critical", 40, class("system-node-critical")),
		}}, expect: func(d *drain) {
			d.within("the critical pod is deleted", d.deleted["critical"], limit-40*time.Second-late, limit-40*time.Second+late)
			d.lastsUntil("critical", limit)
		},
	}} {
		t.Run(test.name, func(t *testing.T) {
			for _, seed := range seeds() {
				d := test.drain
				d.grace = "60s"
				d.run(t, seed)
				test.expect(&d)
				d.within("the claim is gone", d.released, 0, limit+5*time.Minute)
			}
		})
	}
}

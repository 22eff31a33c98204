package disrupt

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/whittle-dev/whittle/functions/functiontest"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

const (
	deploymentsPath = "/apis/apps/v1/namespaces/default/deployments"
	budgetsPath     = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
)

// world acts as everything around disrupt: machines that join and end, their kubelets, and
// lifecycle, which drains nodes by the real Eviction API. It also counts.
type world struct {
	t     *testing.T
	image string // of machines that join
	// most is the greatest number of nodes that were disrupted at once. leastReady is the least number
	// of ready pods. least is the same by Deployment.
	most, leastReady int
	least            map[string]int
	beaten           time.Time
}

// beat sends the kubelets' heartbeats. Without them Kubernetes marks nodes as unreachable after
// forty seconds.
func (w *world) beat() {
	w.t.Helper()
	if time.Since(w.beaten) < 15*time.Second {
		return
	}
	w.beaten = time.Now()
	nodes := functiontest.Get[corev1.NodeList](w.t, server, functiontest.NodesPath).Items
	w.each(len(nodes), func(i int) {
		server.Patch(w.t, functiontest.NodesPath+"/"+nodes[i].Name+"/status",
			map[string]any{"status": map[string]any{"conditions": []map[string]any{
				{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": metav1.Now(),
					"lastTransitionTime": nodes[i].CreationTimestamp},
			}}})
	})
}

// each calls the function for each number, eight at a time.
func (w *world) each(count int, do func(int)) {
	w.t.Helper()
	var group sync.WaitGroup
	limit := make(chan struct{}, 8)
	for i := range count {
		group.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			do(i)
		})
	}
	group.Wait()
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, image: "ami-1", leastReady: 1 << 30}
	t.Cleanup(func() {
		for _, claim := range w.claims() {
			server.Delete(t, api.NodeClaimsPath+"/"+claim.Name)
			w.end(&claim, nil)
		}
	})
	return w
}

func (w *world) claims() []api.NodeClaim {
	return functiontest.Get[api.NodeClaimList](w.t, server, api.NodeClaimsPath).Items
}

func (w *world) pods() []corev1.Pod {
	return functiontest.Get[corev1.PodList](w.t, server, functiontest.PodsPath).Items
}

// join lets the claim's machine join as a node that is ready for pods.
func (w *world) join(claim *api.NodeClaim) {
	w.t.Helper()
	name, capacityType := claim.Name, api.CapacityTypeOnDemand
	for _, requirement := range claim.Spec.Requirements {
		if requirement.Key == api.CapacityTypeLabelKey && slices.Contains(requirement.Values, api.CapacityTypeSpot) {
			capacityType = api.CapacityTypeSpot
		}
	}
	conditions := slices.Clone(claim.Status.Conditions)
	for _, kind := range []string{api.ConditionTypeLaunched, api.ConditionTypeInitialized} {
		// The conditions are old, so that the node counts as settled.
		api.SetCondition(&conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue}, time.Now().Add(-time.Hour))
	}
	server.Patch(w.t, api.NodeClaimsPath+"/"+name, map[string]any{"metadata": map[string]any{"labels": map[string]string{
		corev1.LabelArchStable: "amd64", corev1.LabelInstanceTypeStable: "m5.large", corev1.LabelTopologyZone: "us-east-1a",
		api.CapacityTypeLabelKey: capacityType,
	}}})
	server.Patch(w.t, api.NodeClaimsPath+"/"+name+"/status", map[string]any{"status": map[string]any{
		"providerID": api.ProviderID("us-east-1a", "i-"+name), "imageID": w.image, "conditions": conditions,
	}})
	server.Node(w.t, "node-"+name, "i-"+name)
	server.Patch(w.t, functiontest.NodesPath+"/node-"+name, map[string]any{
		"metadata": map[string]any{"labels": map[string]string{
			api.NodeInitializedLabelKey: "true", api.NodePoolLabelKey: "default", corev1.LabelArchStable: "amd64",
			corev1.LabelHostname:           "node-" + name,
			corev1.LabelInstanceTypeStable: "m5.large", corev1.LabelTopologyZone: "us-east-1a",
			api.CapacityTypeLabelKey: capacityType, corev1.LabelOSStable: "linux",
		}},
		"spec": map[string]any{"taints": []corev1.Taint{}},
	})
}

// fill creates claims whose machines have joined.
func (w *world) fill(prefix string, count int) {
	w.t.Helper()
	w.each(count, func(i int) { w.join(server.Claim(w.t, fmt.Sprintf("%s-%03d", prefix, i), "")) })
	w.beat()
	// Kubernetes finishes with the nodes in about the order of their creation.
	for i := max(0, count-20); i < count; i++ {
		server.Settle(w.t, fmt.Sprintf("node-%s-%03d", prefix, i))
	}
}

// end releases a deleted claim whose node has no pods any more.
func (w *world) end(claim *api.NodeClaim, pods []corev1.Pod) {
	node := "node-" + claim.Name
	for i := range pods {
		if pods[i].Spec.NodeName != node {
			continue
		}
		server.Evict(w.t, &pods[i]) // the next step repeats an eviction that a budget forbids
		return
	}
	server.Delete(w.t, functiontest.NodesPath+"/"+node)
	server.Patch(w.t, api.NodeClaimsPath+"/"+claim.Name,
		map[string]any{"metadata": map[string]any{"finalizers": []string{}}})
}

// step gives everything around disrupt one turn.
func (w *world) step() {
	w.t.Helper()
	w.beat()
	pods := w.pods()
	ready, readyOf := 0, map[string]int{}
	for i := range pods {
		pod := &pods[i]
		switch {
		case pod.Spec.NodeName != "" && pod.DeletionTimestamp != nil:
			server.EndPods(w.t, pod.Spec.NodeName)
		case pod.Spec.NodeName != "" && pod.Status.Phase != corev1.PodRunning:
			server.Patch(w.t, functiontest.PodsPath+"/"+pod.Name+"/status", map[string]any{"status": map[string]any{
				"phase": "Running", "startTime": metav1.Now(), "conditions": []map[string]any{{"type": "Ready", "status": "True"}},
			}})
			ready++
			readyOf[pod.Labels["app"]]++
		case pod.Status.Phase == corev1.PodRunning:
			ready++
			readyOf[pod.Labels["app"]]++
		}
	}
	w.leastReady = min(w.leastReady, ready)
	for name, least := range w.least {
		w.least[name] = min(least, readyOf[name])
	}
	going := 0
	for _, claim := range w.claims() {
		claim := &claim
		switch {
		case claim.DeletionTimestamp != nil:
			going++
			w.end(claim, pods)
		case api.GetCondition(claim.Status.Conditions, api.ConditionTypeDisruptionReason) != nil:
			going++
		case claim.Status.ProviderID == "":
			w.join(claim)
			server.Settle(w.t, "node-"+claim.Name)
		}
	}
	w.most = max(w.most, going)
}

// workload creates a Deployment with a disruption budget, and waits until all replicas run.
func (w *world) workload(replicas, available int32, cpu string) {
	w.t.Helper()
	least := intstr.FromInt32(available)
	functiontest.Create(w.t, server, budgetsPath, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &least,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	})
	w.t.Cleanup(func() { server.Delete(w.t, budgetsPath+"/web") })
	w.deploy("web", replicas, cpu, nil)
	w.await("all replicas run, and their budget knows it", func() bool {
		w.step()
		stored := functiontest.Get[policyv1.PodDisruptionBudget](w.t, server, budgetsPath+"/web")
		return stored.Status.CurrentHealthy == replicas
	})
	w.most, w.leastReady = 0, int(replicas)
}

// deploy creates a Deployment until the test is over.
func (w *world) deploy(name string, replicas int32, cpu string, annotations map[string]string) {
	w.t.Helper()
	labels := map[string]string{"app": name}
	made := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}}
	made.Spec.Replicas, made.Spec.Selector = &replicas, &metav1.LabelSelector{MatchLabels: labels}
	made.Spec.Template.Labels, made.Spec.Template.Annotations = labels, annotations
	made.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image",
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
		}}}
	functiontest.Create(w.t, server, deploymentsPath, &made)
	w.t.Cleanup(func() {
		server.Delete(w.t, deploymentsPath+"/"+name)
		for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
			left := slices.DeleteFunc(w.pods(), func(pod corev1.Pod) bool { return pod.Labels["app"] != name })
			if len(left) == 0 {
				return
			}
			for _, pod := range left {
				if pod.Spec.NodeName != "" {
					server.EndPods(w.t, pod.Spec.NodeName)
				}
			}
		}
	})
}

// await waits for the control plane's own controllers.
func (w *world) await(what string, done func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(4 * time.Minute); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: not in time", what)
		}
	}
}

// TestAnImageRollsOutWithinTheBudget replaces twenty nodes with an old image, two at a time, while
// a Deployment's disruption budget allows two evictions.
func TestAnImageRollsOutWithinTheBudget(t *testing.T) {
	pool(t, "2")
	withoutStages(t)
	offers(t)
	const nodes = 20
	w := newWorld(t)
	w.image = "ami-0"
	w.fill("old", nodes)
	w.image = "ami-1"
	w.workload(nodes, nodes-2, "1200m")
	for i := range nodes {
		drift(t, fmt.Sprintf("old-%03d", i))
	}
	l := newHarness(t, nil)
	old := nodes
	w.await("every node has the new image", func() bool {
		l.mustTick(t)
		l.ahead += 20 * time.Second
		w.step()
		left := 0
		for _, claim := range w.claims() {
			if claim.Status.ImageID == "ami-0" {
				left++
			}
		}
		if left < old {
			old = left
			t.Logf("%d nodes with the old image are left", old)
		}
		return left == 0
	})
	if w.most == 0 || w.most > 2 {
		t.Errorf("%d nodes were on their way out at once, the budget allows 2", w.most)
	}
	if w.leastReady < nodes-2 {
		t.Errorf("%d of %d pods were ready at the least: the disruption budget wants %d", w.leastReady, nodes, nodes-2)
	}
	// Each node was replaced by one of its own, which carries the hash of its pool.
	claims := w.claims()
	if len(claims) != nodes {
		t.Errorf("%d nodes are there for %d pods", len(claims), nodes)
	}
	for _, claim := range claims {
		if !strings.HasPrefix(claim.Name, "default-") || claim.Annotations[api.NodePoolHashAnnotationKey] == "" ||
			claim.Annotations[disruption.ReplacesAnnotationKey] == "" {
			t.Errorf("nodeclaim %s: annotations %v", claim.Name, claim.Annotations)
		}
	}
}

// TestAStormOfEmptyNodes has two hundred empty nodes under the default budget of a tenth.
func TestAStormOfEmptyNodes(t *testing.T) {
	pool(t, "10%")
	const nodes = 100
	w := newWorld(t)
	w.fill("storm", nodes)
	l := newHarness(t, nil)
	looks, left := 0, nodes
	w.await("no node is left", func() bool {
		l.mustTick(t)
		l.ahead += 20 * time.Second
		looks++
		going := 0
		claims := w.claims()
		if looks%10 == 0 {
			t.Logf("%d nodes after %d looks", len(claims), looks)
		}
		for i := range claims {
			if claims[i].DeletionTimestamp != nil || api.GetCondition(claims[i].Status.Conditions,
				api.ConditionTypeDisruptionReason) != nil {
				going++
			}
		}
		// The budget is a tenth of the nodes, rounded up.
		if allowed := (left + 9) / 10; going > allowed {
			t.Fatalf("%d of %d nodes are on their way out, the budget allows %d", going, left, allowed)
		}
		w.step()
		left = len(w.claims())
		return left == 0
	})
	t.Logf("%d nodes were gone after %d looks", nodes, looks)
	if looks < 20 {
		t.Errorf("%d looks took them all", looks)
	}
}

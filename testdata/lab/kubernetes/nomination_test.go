package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/whittle-dev/whittle/shared/api"
)

// nominationBursts is the variable that sets how many bursts TestNominations tries for each moment.
const nominationBursts = "NOMINATION_BURSTS"

// A burst of the experiment: so many nodes join, so long after one another.
const (
	burstNodes = 6
	joinEvery  = 300 * time.Millisecond
	readyAfter = 600 * time.Millisecond // from a node's registration to its Ready, where that is later
	settled    = 8 * time.Second
)

// moments are when the pods of a node are nominated to it.
type moments struct {
	name string
	// Each of these is one writing of the nominations of a node's pods.
	early      bool // before any node of the burst exists
	joined     bool // when the node has joined, with both of its taints
	registered bool // after Whittle's taint is gone, while Kubernetes' taint may be left
	// again is the time between two writings for the pods without a nomination, from joined on.
	again time.Duration
}

// TestNominations measures how many pods of a burst kube-scheduler binds to the nodes that the plan
// has for them, by the moment at which they are nominated. Each node is filled exactly by its pods,
// so that one pod elsewhere leaves another without a place. With NOMINATION_BURSTS it prints the table
// of all moments. Otherwise it compares two of them.
func TestNominations(t *testing.T) {
	bursts, all := 1, false
	if given := os.Getenv(nominationBursts); given != "" {
		var err error
		if bursts, err = strconv.Atoi(given); err != nil || bursts < 1 {
			t.Fatalf("environment variable %s is %q: give a number of bursts", nominationBursts, given)
		}
		all = true
	}
	controlPlane := startForTest(t, Options{Binary: builtBinary(t), Directory: t.TempDir()})
	client, err := kubernetes.NewForConfig(controlPlane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	never := moments{name: "never"}
	again := moments{name: "when it joins, and each 0.1 s", joined: true, again: 100 * time.Millisecond}
	tried := []moments{never, again}
	if all {
		tried = []moments{
			never,
			{name: "before the node exists", early: true},
			{name: "when it joins", joined: true},
			{name: "after its registration", registered: true},
			{name: "when it joins, and each 0.5 s", joined: true, again: 500 * time.Millisecond},
			again,
		}
	}
	scores := map[string]score{}
	for _, m := range tried {
		for _, late := range []bool{false, true} {
			var sum score
			for seed := range bursts {
				name := fmt.Sprintf("burst-%d", len(scores)*bursts+seed)
				sum.add(newBurst(client, name, seed, late).run(t, m))
			}
			order := "Ready before its registration"
			if late {
				order = "Ready after its registration"
			}
			scores[m.name+", "+order] = sum
			t.Logf("%-30s %-30s pods where planned %3d of %3d, without a place %3d, bursts as planned %2d of %2d",
				m.name, order, sum.exact, sum.pods, sum.stuck, sum.whole, bursts)
			if without := scores[never.name+", "+order]; m.name == again.name && sum.exact <= without.exact {
				t.Errorf("%s: with nominations %d pods are where planned, and without %d", order, sum.exact, without.exact)
			}
		}
	}
}

// score counts the pods of bursts.
type score struct{ pods, exact, stuck, whole int }

func (s *score) add(other score) {
	s.pods, s.exact, s.stuck, s.whole = s.pods+other.pods, s.exact+other.exact, s.stuck+other.stuck, s.whole+other.whole
}

// burst is one burst of pods and the nodes of its plan.
type burst struct {
	client *kubernetes.Clientset
	name   string // of the burst, a prefix of its objects' names
	late   bool   // whether nodes become Ready after their registration
	cpus   []int64
	names  []string
	pods   [][]int64 // of each node, by their CPUs
	order  []int     // of the nodes' joining
	random *rand.Rand

	plan map[string]string // the node of each pod
}

func newBurst(client *kubernetes.Clientset, name string, seed int, late bool) *burst {
	b := &burst{
		client: client, name: name, late: late, random: rand.New(rand.NewPCG(uint64(seed), 0)), plan: map[string]string{},
	}
	for n := range burstNodes {
		cpus := []int64{4, 8, 16}[b.random.IntN(3)]
		var pods []int64
		for left := cpus; left > 0; {
			cpu := 1 + b.random.Int64N(min(left, 6))
			pods = append(pods, cpu)
			left -= cpu
		}
		b.cpus, b.pods = append(b.cpus, cpus), append(b.pods, pods)
		b.names = append(b.names, fmt.Sprintf("%s-node-%d", name, n))
	}
	b.order = b.random.Perm(burstNodes)
	return b
}

// run creates the pods and lets the nodes join. It counts where the pods run in the end.
func (b *burst) run(t *testing.T, m moments) score {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := b.createPods(ctx); err != nil {
		t.Fatal(err)
	}
	if m.early {
		for n := range b.names {
			b.nominate(ctx, n)
		}
	}
	var joining errgroup.Group
	for at, n := range b.order {
		joining.Go(func() error {
			time.Sleep(time.Duration(at) * joinEvery)
			return b.join(ctx, n, m)
		})
	}
	if err := joining.Wait(); err != nil {
		t.Fatal(err)
	}
	result := b.settle(ctx, t)
	if err := b.clear(ctx); err != nil {
		t.Fatal(err)
	}
	return result
}

// createPods creates the pods in a random order and waits until the scheduler has tried each.
func (b *burst) createPods(ctx context.Context) error {
	type planned struct{ node, cpu int64 }
	var all []planned
	for n, pods := range b.pods {
		for _, cpu := range pods {
			all = append(all, planned{int64(n), cpu})
		}
	}
	b.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i, p := range all {
		name := fmt.Sprintf("%s-pod-%d", b.name, i)
		none := int64(0)
		_, err := b.client.CoreV1().Pods("default").Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: &none,
				Containers: []corev1.Container{{
					Name: "app", Image: "registry.k8s.io/pause:3.10", Resources: corev1.ResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(p.cpu, resource.DecimalSI)},
					},
				}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		b.plan[name] = b.names[p.node]
	}
	return b.until(ctx, func(pods []corev1.Pod) bool {
		for i := range pods {
			if len(pods[i].Status.Conditions) == 0 {
				return false
			}
		}
		return len(pods) == len(b.plan)
	})
}

func (b *burst) until(ctx context.Context, done func([]corev1.Pod) bool) error {
	for {
		list, err := b.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if done(list.Items) {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// join is the life of a node until it takes pods.
func (b *burst) join(ctx context.Context, n int, m moments) error {
	nodes, name := b.client.CoreV1().Nodes(), b.names[n]
	resources := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(b.cpus[n], resource.DecimalSI),
		corev1.ResourcePods:   resource.MustParse("58"),
		corev1.ResourceMemory: resource.MustParse("64Gi"),
	}
	ready := func(status corev1.ConditionStatus) corev1.NodeStatus {
		return corev1.NodeStatus{Capacity: resources, Allocatable: resources, Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: status, Reason: "Kubelet",
			LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
		}}}
	}
	_, err := nodes.Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{api.UnregisteredNoExecuteTaint()}},
		Status:     ready(corev1.ConditionFalse),
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if m.again > 0 {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			for ctx.Err() == nil {
				b.nominate(ctx, n)
				time.Sleep(m.again)
			}
		}()
	}
	becomeReady := func() error {
		time.Sleep(readyAfter)
		return b.patch(ctx, "nodes", "", name, map[string]any{"status": ready(corev1.ConditionTrue)}, "status")
	}
	if !b.late {
		if err := becomeReady(); err != nil {
			return err
		}
		if err := b.waitForTaints(ctx, name, 1); err != nil {
			return err
		}
	}
	if m.joined {
		b.nominate(ctx, n)
	}
	if err := b.unregister(ctx, name); err != nil {
		return err
	}
	if m.registered {
		b.nominate(ctx, n)
	}
	if b.late {
		if err := becomeReady(); err != nil {
			return err
		}
	}
	return b.waitForTaints(ctx, name, 0)
}

// unregister takes Whittle's taint off the node.
func (b *burst) unregister(ctx context.Context, name string) error {
	for {
		node, err := b.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		taints := []corev1.Taint{}
		for _, taint := range node.Spec.Taints {
			if taint.Key != api.UnregisteredTaintKey {
				taints = append(taints, taint)
			}
		}
		err = b.patch(ctx, "nodes", "", name, map[string]any{
			"metadata": map[string]any{
				"resourceVersion": node.ResourceVersion, "labels": map[string]any{api.NodeRegisteredLabelKey: "true"},
			},
			"spec": map[string]any{"taints": taints},
		})
		if err == nil || !strings.Contains(err.Error(), "modified") {
			return err
		}
	}
}

func (b *burst) waitForTaints(ctx context.Context, name string, count int) error {
	for {
		node, err := b.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil || len(node.Spec.Taints) <= count {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// nominate writes the nominations of the node's pods that are neither bound nor nominated.
func (b *burst) nominate(ctx context.Context, n int) {
	var group errgroup.Group
	group.SetLimit(8)
	for pod, node := range b.plan {
		if node != b.names[n] {
			continue
		}
		group.Go(func() error {
			current, err := b.client.CoreV1().Pods("default").Get(ctx, pod, metav1.GetOptions{})
			if err != nil || current.Spec.NodeName != "" || current.Status.NominatedNodeName != "" {
				return err
			}
			return b.patch(ctx, "pods", "default", pod, map[string]any{
				"metadata": map[string]any{"uid": current.UID}, "status": map[string]any{"nominatedNodeName": node},
			}, "status")
		})
	}
	_ = group.Wait() // as in the product, a failed nomination costs nothing
}

func (b *burst) patch(ctx context.Context, kind, namespace, name string, patch any, subresource ...string) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	return b.client.CoreV1().RESTClient().Patch(types.MergePatchType).NamespaceIfScoped(namespace, namespace != "").
		Resource(kind).Name(name).SubResource(subresource...).Body(body).Do(ctx).Error()
}

// settle waits until every pod is bound, or nothing has changed for a while, and counts.
func (b *burst) settle(ctx context.Context, t *testing.T) score {
	var result score
	bound, since := -1, time.Now()
	err := b.until(ctx, func(pods []corev1.Pod) bool {
		result = score{pods: len(pods)}
		for i := range pods {
			switch pods[i].Spec.NodeName {
			case "":
				result.stuck++
			case b.plan[pods[i].Name]:
				result.exact++
			}
		}
		if now := len(pods) - result.stuck; now != bound {
			bound, since = now, time.Now()
		}
		return result.stuck == 0 || time.Since(since) > settled
	})
	if err != nil {
		t.Fatal(err)
	}
	if result.exact == result.pods {
		result.whole = 1
	}
	return result
}

// clear deletes the burst's pods and nodes.
func (b *burst) clear(ctx context.Context) error {
	zero := int64(0)
	options := metav1.DeleteOptions{GracePeriodSeconds: &zero}
	if err := b.client.CoreV1().Pods("default").DeleteCollection(ctx, options, metav1.ListOptions{}); err != nil {
		return err
	}
	if err := b.client.CoreV1().Nodes().DeleteCollection(ctx, options, metav1.ListOptions{}); err != nil {
		return err
	}
	return b.until(ctx, func(pods []corev1.Pod) bool { return len(pods) == 0 })
}

package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
)

// silent is a cluster in which no eviction is answered. It notes when claims are written, after the begin.
type silent struct {
	kubernetes
	began   time.Time
	mutex   sync.Mutex
	written map[string]time.Duration
	asked   []string // pods, in the order in which their evictions were asked for
}

func (s *silent) VolumeAttachments(context.Context) ([]storagev1.VolumeAttachment, error) {
	return nil, nil
}

func (s *silent) PodDisruptionBudgets(context.Context) ([]policyv1.PodDisruptionBudget, error) {
	return nil, nil
}

func (s *silent) PodsVersion(context.Context) (string, error) { return "7", nil }

func (s *silent) PodsOnNode(_ context.Context, node, _ string) ([]corev1.Pod, error) {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "on-" + node}}
	pod.Status.Phase = corev1.PodRunning
	return []corev1.Pod{pod}, nil
}

// Pods are those of the nodes of stuck.
func (s *silent) Pods(ctx context.Context) ([]corev1.Pod, error) {
	var all []corev1.Pod
	for i := range 20 {
		node := fmt.Sprintf("node-a-stuck-%02d", i)
		pods, err := s.PodsOnNode(ctx, node, "")
		if err != nil {
			return nil, err
		}
		pods[0].Spec.NodeName = node
		all = append(all, pods...)
	}
	return all, nil
}

func (s *silent) Evict(ctx context.Context, pod *corev1.Pod) error {
	s.mutex.Lock()
	s.asked = append(s.asked, pod.Name)
	s.mutex.Unlock()
	<-ctx.Done()
	return ctx.Err()
}

func (s *silent) PatchNode(context.Context, string, map[string]any) error { return nil }

func (s *silent) PatchNodeClaim(_ context.Context, name string, _ map[string]any) (*api.NodeClaim, error) {
	return s.PatchNodeClaimStatus(context.Background(), name, nil)
}

func (s *silent) PatchNodeClaimStatus(_ context.Context, name string, _ map[string]any) (*api.NodeClaim, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, again := s.written[name]; !again {
		s.written[name] = time.Since(s.began)
	}
	return &api.NodeClaim{}, nil
}

// stuck has drains of 20 nodes that go on and whose pods nobody evicts, a drained node, and a node that
// joins.
func stuck(now time.Time) []nodeclaim.View {
	at := metav1.NewTime(now.Add(-time.Minute))
	view := func(name string, drained metav1.ConditionStatus) nodeclaim.View {
		claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: at, DeletionTimestamp: &at,
			Finalizers: []string{api.TerminationFinalizer}}}
		claim.Status.ProviderID = "aws:///us-east-1a/i-" + name
		claim.Status.Conditions = []metav1.Condition{{
			Type: api.ConditionTypeDrained, Status: drained, Reason: "Draining", Message: "Draining: 1 pod stays", LastTransitionTime: at,
		}}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-" + name, DeletionTimestamp: &at,
			Finalizers: []string{api.TerminationFinalizer}, Labels: map[string]string{api.LabelExcludeFromLoadBalancers: "karpenter"}}}
		node.Spec.Taints = []corev1.Taint{api.DisruptedNoScheduleTaint()}
		return nodeclaim.View{Claim: claim, Nodes: []*corev1.Node{node}, Report: true}
	}
	var views []nodeclaim.View
	for i := range 20 {
		views = append(views, view(fmt.Sprintf("a-stuck-%02d", i), metav1.ConditionUnknown))
	}
	drained := view("drained", metav1.ConditionTrue)
	drained.InstancesListed, drained.Instances = true, []nodeclaim.Instance{{ID: "i-drained", State: "running"}}
	joins := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "joins", CreationTimestamp: at}}
	joins.Status.ProviderID = "aws:///us-east-1a/i-joins"
	views = append(views, drained, nodeclaim.View{Claim: joins})
	slices.SortStableFunc(views, nodeclaim.View.Compare)
	takeTurns(views, now)
	return views
}

// TestStuckDrainsDelayNoOtherWork bounds a pass in which no eviction is answered, and what else waits for
// it. The time is the test's own.
func TestStuckDrainsDelayNoOtherWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &silent{began: time.Now(), written: map[string]time.Duration{}}
		p := passOver(client, time.Now, &seen{scope: scope{report: true}, views: stuck(time.Now())})
		ec2 := &fakeEC2{}
		ec2.launch("i-drained", nil)
		p.fleet = ec2
		result := p.run(t.Context())
		if result.failed != nil {
			t.Errorf("an eviction that is not answered is a failure: %v", result.failed)
		}
		if len(client.asked) < parallel {
			t.Errorf("%d evictions were asked for", len(client.asked))
		}
		if took := time.Since(client.began); took > turn+evictWithin {
			t.Errorf("the pass took %s", took)
		}
		if at, written := client.written["joins"]; !written || at > time.Second {
			t.Errorf("the node that joins was worked on: %t, after %s", written, at)
		}
		if len(ec2.running()) > 0 {
			t.Error("the drained node was not terminated")
		}
	})
}

// dense is a cluster whose nodes have 200 pods each, all under one disruption budget, and whose API
// server takes a twentieth of a second for an eviction.
type dense struct{ silent }

func (d *dense) PodDisruptionBudgets(context.Context) ([]policyv1.PodDisruptionBudget, error) {
	budget := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "all"}}
	budget.Spec.Selector = &metav1.LabelSelector{}
	return []policyv1.PodDisruptionBudget{budget}, nil
}

func (d *dense) PodsOnNode(ctx context.Context, node, version string) ([]corev1.Pod, error) {
	var pods []corev1.Pod
	for i := range 200 {
		one, err := d.silent.PodsOnNode(ctx, fmt.Sprint(node, "-", i), version)
		if err != nil {
			return nil, err
		}
		pods = append(pods, one...)
	}
	return pods, nil
}

func (d *dense) Evict(_ context.Context, pod *corev1.Pod) error {
	time.Sleep(time.Second / 20)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.asked = append(d.asked, pod.Name)
	return nil
}

// TestADenseDrainGoesOnInTheNextPass: the Lease of the pass ends before 200 pods of one budget have been
// evicted one by one.
func TestADenseDrainGoesOnInTheNextPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &dense{silent{began: time.Now(), written: map[string]time.Duration{}}}
		views := slices.DeleteFunc(stuck(time.Now()), func(view nodeclaim.View) bool { return view.Claim.Name != "a-stuck-00" })
		result := passOver(client, time.Now, &seen{views: views}).run(t.Context())
		if took := time.Since(client.began); result.failed != nil || took > turn+time.Second {
			t.Errorf("the pass took %s, with the failure %v", took, result.failed)
		}
		if len(client.asked) < 90 || result.again != afterConflict {
			t.Errorf("%d pods were evicted, and the next pass is in %s", len(client.asked), result.again)
		}
	})
}

// TestDrainsThatGoOnTakeTurns has passes that come to a part of the drains only.
func TestDrainsThatGoOnTakeTurns(t *testing.T) {
	begun := map[string]bool{}
	for pass := range 60 {
		now := time.Unix(int64(1_000_000+2*pass), 0)
		for _, view := range stuck(now)[2:5] { // behind the two that come first
			begun[view.Claim.Name] = true
		}
	}
	if len(begun) < 20 {
		t.Errorf("60 passes that work on 3 of 20 drains come to %d", len(begun))
	}
}

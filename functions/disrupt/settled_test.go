package disrupt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/snapshot"
)

// described says in words what consolidation decides on, in an order of its own.
func described(o *snapshot.Objects) string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	for i := range o.Pods {
		pod := &o.Pods[i]
		add("pod %s %s %s %d %v", pod.UID, pod.Spec.NodeName, pod.Status.Phase, pod.Generation, pod.DeletionTimestamp)
	}
	for i := range o.Nodes {
		node := &o.Nodes[i]
		add("node %s %v %v %v", node.UID, node.Spec.Taints, node.Labels, node.Annotations)
	}
	for i := range o.NodeClaims {
		add("claim %s %s", o.NodeClaims[i].UID, o.NodeClaims[i].ResourceVersion)
	}
	for i := range o.NodePools {
		add("pool %s %d %v", o.NodePools[i].UID, o.NodePools[i].Generation, o.NodePools[i].Annotations)
	}
	for i := range o.PodDisruptionBudgets {
		add("budget %s %s", o.PodDisruptionBudgets[i].UID, o.PodDisruptionBudgets[i].ResourceVersion)
	}
	slices.Sort(all)
	return fmt.Sprint(all)
}

// TestAFleetIsUnchangedWhereItsDescriptionIs changes a fleet at random, or only its order and its heartbeats. Some
// changes take an earlier one back.
func TestAFleetIsUnchangedWhereItsDescriptionIs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	o := fullFleet(4)
	o.PodDisruptionBudgets = []policyv1.PodDisruptionBudget{
		{ObjectMeta: metav1.ObjectMeta{UID: "b", ResourceVersion: "1"}},
	}
	some := func() *corev1.Pod { return &o.Pods[random.IntN(len(o.Pods))] }
	node := func() *corev1.Node { return &o.Nodes[random.IntN(len(o.Nodes))] }
	set := func(values map[string]string) map[string]string {
		changed := map[string]string{}
		for key, value := range values {
			changed[key] = value
		}
		changed[[]string{"a", "b"}[random.IntN(2)]] = []string{"", "a", "b"}[random.IntN(3)]
		return changed
	}
	changes := []func(){
		func() { some().Status.Phase = []corev1.PodPhase{corev1.PodRunning, corev1.PodFailed}[random.IntN(2)] },
		func() { some().Spec.NodeName = node().Name },
		func() { some().Generation = int64(random.IntN(2)) },
		func() {
			some().DeletionTimestamp = []*metav1.Time{nil, {Time: noon}, {Time: noon.Add(time.Second)}}[random.IntN(3)]
		},
		func() { n := node(); n.Labels = set(n.Labels) },
		func() { n := node(); n.Annotations = set(n.Annotations) },
		func() {
			node().Spec.Taints = [][]corev1.Taint{nil, {{Key: "a"}}, {{Key: "a", Effect: "x"}}, {{Key: "ax"}},
				{{Key: "a"}, {Key: "b"}}}[random.IntN(5)]
		},
		func() { o.NodeClaims[random.IntN(4)].ResourceVersion = fmt.Sprint(random.IntN(2)) },
		func() { o.NodePools[0].Generation = int64(random.IntN(2)) },
		func() { o.NodePools[0].Annotations = set(o.NodePools[0].Annotations) },
		func() { o.PodDisruptionBudgets[0].ResourceVersion = fmt.Sprint(random.IntN(2)) },
		func() {
			random.Shuffle(len(o.Pods), func(i, j int) { o.Pods[i], o.Pods[j] = o.Pods[j], o.Pods[i] })
			random.Shuffle(len(o.Nodes), func(i, j int) { o.Nodes[i], o.Nodes[j] = o.Nodes[j], o.Nodes[i] })
		},
		func() {
			beat := noon.Add(time.Duration(random.Int64N(1000)) * time.Second)
			node().Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(beat)
		},
	}
	byDescription, byFingerprint := map[string]uint64{}, map[uint64]string{}
	for range 2000 {
		changes[random.IntN(len(changes))]()
		text, sum := described(o), fingerprint(o)
		if known, is := byDescription[text]; is && known != sum {
			t.Fatal("the same fleet has two fingerprints")
		}
		if known, is := byFingerprint[sum]; is && known != text {
			t.Fatalf("two fleets have one fingerprint:\n%s\n%s", known, text)
		}
		byDescription[text], byFingerprint[sum] = sum, text
	}
	if len(byDescription) < 100 || len(byDescription) == 2000 {
		t.Errorf("%d different fleets of 2000", len(byDescription))
	}
}

package simulate

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/engine"
)

// leavingRun is a simulation with a pool whose budget is one node, and a node of it that drains.
func leavingRun(t *testing.T, pod *corev1.Pod) *Run {
	t.Helper()
	r := &Run{store: apiserver.NewStore(time.Now), machines: map[string]*machine{}}
	pool := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: driftedPool}}
	pool.Spec.Disruption.Budgets = []api.Budget{{Nodes: "1"}}
	claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "leaves", Labels: map[string]string{api.NodePoolLabelKey: driftedPool},
		Finalizers: []string{api.TerminationFinalizer},
	}}
	_, poolErr := r.store.Create(apiserver.NodePools, pool)
	stored, claimErr := r.store.Create(apiserver.NodeClaims, claim)
	_, podErr := r.store.Create(apiserver.Pods, pod)
	if poolErr != nil || claimErr != nil || podErr != nil {
		t.Fatal(poolErr, claimErr, podErr)
	}
	r.store.Delete(stored, nil)
	apiserver.Update(r.store, apiserver.NodeClaims, "", "leaves", func(claim *api.NodeClaim) bool {
		claim.Status.NodeName = "node"
		return true
	})
	return r
}

func TestADrainThatPodsHoldUpUsesTheBudget(t *testing.T) {
	for _, kept := range []bool{true, false} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
		pod.Spec.NodeName, pod.Status.Phase = "node", corev1.PodRunning
		if kept {
			pod.Annotations = map[string]string{api.DoNotDisruptAnnotationKey: "true"}
		}
		if held := leavingRun(t, pod).drainsHeld(driftedPool); held != kept {
			t.Errorf("with a pod that keeps its node %t, the budget is held %t", kept, held)
		}
	}
}

func TestAPodWaitsForTheMachineThatBootsForIt(t *testing.T) {
	of := func(vcpus int) ec2.Instance {
		var i ec2.Instance
		i.Facts.VCPUs = vcpus
		return i
	}
	for _, test := range []struct {
		machine machine
		waits   bool
	}{
		{machine{instance: of(2)}, true}, {machine{instance: of(1)}, false},
		{machine{instance: of(2), absent: true}, false}, {machine{instance: of(2), joined: true}, false},
		{machine{instance: of(2), off: true}, false},
	} {
		r := &Run{store: apiserver.NewStore(time.Now), machines: map[string]*machine{}}
		r.engine = engine.New(1, func() {})
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a", UID: "pod-uid"}}
		pod.Spec.Containers = []corev1.Container{{Resources: size(1200, 256)}}
		claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "boots"}}
		if _, err := r.store.Create(apiserver.NodeClaims, claim); err != nil {
			t.Fatal(err)
		}
		apiserver.Update(r.store, apiserver.NodeClaims, "", "boots", func(claim *api.NodeClaim) bool {
			claim.Status.ProviderID = (&ec2.Instance{ID: "i-0123456789abcdef0", Zone: "us-east-1a"}).ProviderID()
			return true
		})
		r.machines["i-0123456789abcdef0"] = &test.machine
		if waits := r.awaitsBoot(pod); waits != test.waits {
			t.Errorf("%+v: %t", test, waits)
		}
	}
}

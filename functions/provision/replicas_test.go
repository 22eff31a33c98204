package provision

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/cluster/clustertest"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// static is a pool with a fixed number of on-demand nodes of four cpu.
func static(replicas int, limits map[string]any) *unstructured.Unstructured {
	return nodePool("static", "default", func(spec map[string]any) {
		spec["replicas"] = int64(replicas)
		if limits != nil {
			spec["limits"] = limits
		}
		spec["template"].(map[string]any)["metadata"] = map[string]any{"labels": map[string]any{"team": "a"}}
		of := spec["template"].(map[string]any)["spec"].(map[string]any)
		of["requirements"] = []any{
			map[string]any{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []any{"on-demand"}},
			map[string]any{"key": "karpenter.k8s.aws/instance-cpu", "operator": "In", "values": []any{"4"}},
		}
		of["taints"] = []any{map[string]any{"key": "own", "effect": "NoSchedule"}}
	})
}

// standing are the claims that are not being deleted.
func (e *environment) standing() []api.NodeClaim {
	var standing []api.NodeClaim
	for _, claim := range e.claims() {
		if claim.DeletionTimestamp == nil {
			standing = append(standing, claim)
		}
	}
	return standing
}

// pass is a tick in a new container, once the watch cache has what was written before.
func (e *environment) pass() {
	e.t.Helper()
	e.untilCached()
	if _, err := e.handler(alive()).handle(e.t.Context(), tick("1")); err != nil {
		e.t.Fatal(err)
	}
}

// untilCached waits until the watch cache has the claims as they are.
func (e *environment) untilCached() {
	e.t.Helper()
	e.until("the watch cache to have the claims", func() bool {
		cached, err := e.client.CachedNodeClaims(e.t.Context())
		return err == nil && fmt.Sprint(versions(cached)) == fmt.Sprint(versions(e.claims()))
	})
}

func versions(claims []api.NodeClaim) map[string]string {
	versions := map[string]string{}
	for _, claim := range claims {
		versions[claim.Name] = claim.ResourceVersion
	}
	return versions
}

// replicas applies the static pool and waits until the function sees it.
func (e *environment) replicas(pool *unstructured.Unstructured) {
	e.t.Helper()
	e.apply(pool)
	wanted, _, _ := unstructured.NestedInt64(pool.Object, "spec", "replicas")
	e.until("the pool to be seen", func() bool {
		pools, err := e.client.NodePools(e.t.Context())
		e.try(err)
		for _, seen := range pools {
			if seen.Name == pool.GetName() && seen.Spec.Replicas != nil && *seen.Spec.Replicas == wanted {
				return true
			}
		}
		return false
	})
}

func TestAStaticPoolHasItsNumberOfNodes(t *testing.T) {
	e := newEnvironment(t)
	e.replicas(static(3, nil))
	for range 2 {
		e.pass()
		claims, instances := e.standing(), e.instances()
		if len(claims) != 3 || len(instances) != 3 {
			t.Fatalf("%d claims and %d instances, want three of each", len(claims), len(instances))
		}
		for _, claim := range claims {
			if !strings.HasPrefix(claim.Name, "static-") || claim.Labels[api.NodePoolLabelKey] != "static" ||
				claim.Labels["team"] != "a" ||
				claim.Labels[corev1.LabelInstanceTypeStable] != "m5.xlarge" ||
				claim.Labels[api.CapacityTypeLabelKey] != "on-demand" ||
				claim.Annotations[api.AttemptAnnotationKey] != "1" || len(claim.Spec.Taints) != 1 ||
				len(claim.OwnerReferences) != 1 ||
				claim.Status.ProviderID == "" {
				t.Errorf("claim %+v", claim)
			}
		}
	}
	e.replicas(static(1, nil))
	for range 2 {
		e.pass()
		if claims := e.standing(); len(claims) != 1 {
			t.Fatalf("%d claims are left, want one", len(claims))
		}
	}
	if all := e.claims(); len(all) != 3 {
		t.Errorf("%d claims in all: those that go are lifecycle's", len(all))
	}
}

// A person who changes the number waits for one tick, not for a minute.
func TestEachTickCountsReplicas(t *testing.T) {
	e := newEnvironment(t)
	warm := e.handler(alive())
	// The container has seen a cluster without such a pool.
	if _, err := warm.handle(t.Context(), tick("1")); err != nil {
		t.Fatal(err)
	}
	for _, count := range []int{1, 3, 2} {
		e.replicas(static(count, nil))
		e.untilCached()
		if _, err := warm.handle(t.Context(), tick("1")); err != nil {
			t.Fatal(err)
		}
		if claims := e.standing(); len(claims) != count {
			t.Fatalf("%d claims, want %d", len(claims), count)
		}
	}
}

// TestALaggingAPIServerDeletesNoReplica shows the number of replicas of the past to a container whose
// other reads are fresh.
func TestALaggingAPIServerDeletesNoReplica(t *testing.T) {
	e := newEnvironment(t)
	e.replicas(static(1, nil))
	lag := &clustertest.Lag{}
	lagging := e.handler(alive())
	lagging.connection = fixed{e.connectThrough(lag.Wrap)}
	look := func() {
		t.Helper()
		batch := tick("1")
		batch.Records[0].Body = strings.Replace(batch.Records[0].Body, `"tick"`, `"interruption"`, 1) // reads everything
		if _, err := lagging.handle(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	look()
	lag.Freeze()
	e.replicas(static(3, nil))
	e.pass()
	look()
	if claims := e.standing(); len(claims) != 3 {
		t.Errorf("%d claims are left of three", len(claims))
	}
}

func TestAStaticPoolKeepsItsLimit(t *testing.T) {
	e := newEnvironment(t)
	e.replicas(static(3, map[string]any{"nodes": "2"}))
	for range 2 {
		e.pass()
		if claims := e.standing(); len(claims) != 2 {
			t.Fatalf("%d claims, want the limit's two", len(claims))
		}
	}
}

// A pod gets no node from a static pool, but may run on one that the pool has.
func TestPodsUseAStaticPoolsNodes(t *testing.T) {
	e := newEnvironment(t)
	e.replicas(static(1, nil))
	tolerant := func(pod *corev1.Pod) {
		pod.Spec.Tolerations = []corev1.Toleration{{Key: "own", Operator: corev1.TolerationOpExists}}
		pod.Spec.NodeSelector = map[string]string{"team": "a"}
	}
	e.pod("one", "3", tolerant)
	e.pod("two", "3", tolerant)
	for range 2 {
		e.pass()
		if claims := e.standing(); len(claims) != 1 {
			t.Fatalf("%d claims, want the replica alone", len(claims))
		}
	}
	messages := strings.Join(append(e.events("one", "FailedScheduling"), e.events("two", "FailedScheduling")...), "\n")
	if !strings.Contains(messages, `nodepool "static"`) || !strings.Contains(messages, "replicas") {
		t.Errorf("the event of the unplaced pod says %q, want it to name the pool and its replicas", messages)
	}
}

func TestAStaticPoolWithoutAnOfferingWritesNoClaims(t *testing.T) {
	e := newEnvironment(t)
	e.ec2.Starve(ec2.Starvation{InstanceType: "m5.xlarge"})
	e.replicas(static(2, nil))
	for range 2 {
		e.pass()
		if claims := e.standing(); len(claims) != 0 {
			t.Errorf("%d claims without an instance", len(claims))
		}
	}
	events := strings.Join(e.events("static", "InsufficientCapacityError"), "\n")
	if !strings.Contains(events, "2 missing nodes") {
		t.Errorf("the pool's events say %q", events)
	}
}

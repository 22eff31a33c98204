package crash

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/laws"
)

// effect is the result of one call of a function.
type effect struct {
	call    string
	object  object
	changes bool // it changed something
	refused bool // the function has no right to it
}

// check tests what must never happen, directly after each call that changed something.
func (t *trial) check(ctx context.Context, carried effect) {
	if carried.refused {
		t.fault("the function may not %s", carried.call)
	}
	if !carried.changes {
		return
	}
	if carried.call == http.MethodPost+" pods/eviction" {
		t.mutex.Lock()
		t.evictions[carried.object.name]++
		count := t.evictions[carried.object.name]
		t.mutex.Unlock()
		if count > 1 {
			t.fault("pod %s was evicted %d times", carried.object.name, count)
		}
	}
	ends := carried.call == "ec2:TerminateInstances"
	if !ends && carried.object.resource != "pods" || t.scenario.IgnoresBudgets {
		return
	}
	s, err := t.observe(ctx)
	if err != nil {
		t.fault("looking at the world after %s: %v", carried.call, err)
		return
	}
	for i := range s.budgets {
		budget := &s.budgets[i]
		if healthy, least := s.guarded(budget, s.healthy), budget.Spec.MinAvailable.IntValue(); healthy < least {
			t.fault("after %s the budget %s has %d healthy pods, of at least %d", carried.call, budget.Name, healthy, least)
		}
	}
	if ends {
		t.lost(s)
	}
}

// lost reports pods that still ran on an instance when the functions terminated it. Pods that tolerate
// everything end with their node, as those of daemon sets do.
func (t *trial) lost(s *state) {
	for i := range s.pods {
		pod := &s.pods[i]
		node := s.node(pod.Spec.NodeName)
		if node == nil || pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning || isDaemon(pod) {
			continue
		}
		if instance := s.instance(node.Spec.ProviderID); instance != nil &&
			(instance.State == ec2.ShuttingDown || instance.State == ec2.Terminated) {
			t.fault("instance %s was ended under the pod %s", instance.ID, pod.Name)
		}
	}
}

// isDaemon reports whether the pod tolerates every taint.
func isDaemon(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(one corev1.Toleration) bool {
		return one.Key == "" && one.Operator == corev1.TolerationOpExists && one.Effect == ""
	})
}

// fault records a violation once.
func (t *trial) fault(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if !slices.Contains(t.faults, text) {
		t.faults = append(t.faults, text)
	}
}

// unsettled lists the laws of a world at rest that a trial's end breaks.
func (t *trial) unsettled(s *state) []string {
	world := &laws.World{
		Now: t.world.now(), Claims: laws.Pointers(s.claims), Classes: laws.Pointers(s.classes), Nodes: laws.Pointers(s.nodes),
		Pools: laws.Pointers(s.pools), Instances: s.instances, Stopped: t.scenario.MayKeepStopped,
	}
	return laws.Broken(world, append(laws.Always(), laws.AtRest()...))
}

// launched counts the instances that the functions have launched, terminated ones included.
func (t *trial) launched(s *state) int { return len(s.instances) - t.stage.instances }

// ready reports whether the claim's node is ready for pods.
func ready(claim *api.NodeClaim) bool {
	return claim.DeletionTimestamp == nil && api.ConditionTrue(claim.Status.Conditions, api.ConditionReady)
}

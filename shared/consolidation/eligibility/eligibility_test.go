package eligibility_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/consolidation/eligibility"
	"github.com/whittle-dev/whittle/shared/consolidation/state"
	"github.com/whittle-dev/whittle/shared/plan"
)

// fragmented is a fleet of eight nodes of which eligibility keeps none.
func fragmented(t *testing.T) *plan.Snapshot {
	t.Helper()
	types := catalog.Resolve(
		catalogtest.Catalog(t), catalogtest.NodeClass("default"), catalog.Observed{}, catalogtest.Now,
	)
	return consolidationtest.Fleets()[0].Make(8, types)
}

// refusals are the nodes' reasons by name.
func refusals(s *plan.Snapshot, budgets ...policyv1.PodDisruptionBudget) map[string]state.Refusal {
	f := state.New(s, consolidationtest.Now)
	eligibility.Decide(f, s, budgets)
	found := map[string]state.Refusal{}
	for _, n := range f.Nodes {
		if !n.Candidate {
			found[n.Name] = n.Ineligible
		}
	}
	return found
}

// TestABudgetOverPodsThatNoDrainEvictsKeepsNoNode has a budget over a daemon set that tolerates everything,
// and that Kubernetes therefore computes as allowing nothing.
func TestABudgetOverPodsThatNoDrainEvictsKeepsNoNode(t *testing.T) {
	s := fragmented(t)
	agent := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent", Labels: map[string]string{"app": "agent"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet", Name: "agent", Controller: new(true)}}}}
	agent.Status.Phase = corev1.PodRunning
	evicted := agent
	agent.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	s.Nodes[1].Pods, s.Nodes[2].Pods = append(s.Nodes[1].Pods, agent), append(s.Nodes[2].Pods, evicted)
	budget := policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: agent.Labels}
	found := refusals(s, budget)
	if len(found) != 1 || found[s.Nodes[2].Node.Name].Because != state.Protected {
		t.Errorf("nodes stay: %v", found)
	}
}

func TestEachNodeIsDecidedAlone(t *testing.T) {
	s := fragmented(t)
	if found := refusals(s); len(found) != 0 {
		t.Fatalf("nodes of a settled fleet stay: %v", found)
	}
	s.Nodes[2].Node.Annotations = map[string]string{api.DoNotDisruptAnnotationKey: "true"}
	s.Nodes[5].NodeClaim = nil
	found := refusals(s)
	if found[s.Nodes[2].Node.Name].Because != state.Protected {
		t.Errorf("the protected node: %v", found)
	}
	// A node that no claim stands for is no candidate, and there is nothing to say about it.
	if refusal, refused := found[s.Nodes[5].Node.Name]; !refused || !refusal.IsZero() {
		t.Errorf("the node without a claim: %v", found)
	}
	if len(found) != 2 {
		t.Errorf("other nodes stay too: %v", found)
	}
	slices.Reverse(s.Nodes)
	if again := refusals(s); len(again) != 2 {
		t.Errorf("in another order other nodes stay: %v", again)
	}
}

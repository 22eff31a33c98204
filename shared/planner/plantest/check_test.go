package plantest

import (
	"slices"
	"testing"

	"github.com/whittle-dev/whittle/shared/planner"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/plan"
)

// TestCheckFindsWhatIsBroken applies every mutation to legal plans. Check must find each of them.
func TestCheckFindsWhatIsBroken(t *testing.T) {
	const seeds = 3000
	times := int(Seeds(5))
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			done := 0
			for seed := uint64(0); seed < seeds && done < times; seed++ {
				s := quiet(Random(seed))
				p := planner.Solve(s)
				if len(Check(s, p)) > 0 {
					continue
				}
				s = Clone(s)
				if !m.apply(s, p) {
					continue
				}
				done++
				violations := Check(s, p)
				if !slices.ContainsFunc(violations, func(v string) bool { return Class(v) == m.want }) {
					t.Errorf("cluster %d: no violation of class %q among %q", seed, m.want, violations)
				}
			}
			if done < times {
				t.Errorf("only %d clusters could be broken so", done)
			}
		})
	}
}

// quiet removes leaving nodes, ending pods and terms between pods, in place. They would make a
// mutation's outcome depend on the reading.
func quiet(s *plan.Snapshot) *plan.Snapshot {
	s.Nodes = slices.DeleteFunc(s.Nodes, func(n plan.Node) bool {
		return isLeaving(&n) || n.NodeClaim != nil && n.NodeClaim.Status.ProviderID == ""
	})
	for i := range s.Nodes {
		s.Nodes[i].Pods = slices.DeleteFunc(s.Nodes[i].Pods, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
		for j := range s.Nodes[i].Pods {
			s.Nodes[i].Pods[j].Spec.Affinity = nil
		}
	}
	for i := range s.Pods {
		s.Pods[i].Spec.TopologySpreadConstraints = nil
		if a := s.Pods[i].Spec.Affinity; a != nil {
			a.PodAffinity, a.PodAntiAffinity = nil, nil
		}
	}
	return s
}

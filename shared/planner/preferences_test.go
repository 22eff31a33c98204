package planner_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
)

func prefersZone(zones ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		var terms []corev1.PreferredSchedulingTerm
		for i, zone := range zones {
			terms = append(terms, corev1.PreferredSchedulingTerm{Weight: int32(100 - i), Preference: corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
				}}})
		}
		p.Spec.Affinity = &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms},
		}
	}
}

func prefersAwayFrom(key, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
					{Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: selecting(name)}}},
			},
		}
	}
}

func anyway(key string, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		spreadOver(key, 1, name)(p)
		p.Spec.TopologySpreadConstraints[0].WhenUnsatisfiable = corev1.ScheduleAnyway
	}
}

// TestPreferences plans pods with preferences that hold for all, some or none of them, under both
// policies.
func TestPreferences(t *testing.T) {
	const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname
	inZone := func(name string) func(*corev1.Pod) { return prefersZone(name) }
	for _, test := range []struct {
		name   string
		count  int
		change []func(*corev1.Pod)
		pool   []func(*api.NodePool)
		// respected and ignored are the numbers of new nodes under each policy. -1 allows any
		// number.
		respected, ignored int
		zones              []string
	}{
		{name: "a zone that is there", count: 4, change: []func(*corev1.Pod){inZone("us-east-1b")}, respected: -1,
			ignored: -1, zones: []string{"us-east-1b"}},
		{name: "a zone that is not", count: 4, change: []func(*corev1.Pod){inZone("eu-west-1a")}, respected: -1, ignored: -1},
		{name: "the second best zone", count: 4, change: []func(*corev1.Pod){prefersZone("eu-west-1a", "us-east-1c")},
			respected: -1, ignored: -1, zones: []string{"us-east-1c"}},
		{name: "away from its like over hosts", count: 5,
			change: []func(*corev1.Pod){app("web"), prefersAwayFrom(host, "web")}, respected: 5, ignored: -1},
		{name: "away from its like over zones, for the first three", count: 8,
			change: []func(*corev1.Pod){app("web"), prefersAwayFrom(zone, "web")}, respected: -1, ignored: -1},
		{name: "spread anyway", count: 6, change: []func(*corev1.Pod){app("web"), anyway(zone, "web")}, respected: 3,
			ignored: -1},
		{name: "a taint that is better avoided", count: 2, pool: []func(*api.NodePool){func(p *api.NodePool) {
			p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "slow", Effect: corev1.TaintEffectPreferNoSchedule}}
		}}, respected: -1, ignored: -1},
	} {
		for _, policy := range []plan.PreferencePolicy{plan.PreferencesRespected, plan.PreferencesIgnored} {
			t.Run(test.name+" "+string(policy), func(t *testing.T) {
				s := realSnapshot(t, newPool("default", test.pool...))
				s.PreferencePolicy = policy
				for i := range test.count {
					s.Pods = append(s.Pods, newPod(fmt.Sprintf("p-%02d", i), "200m", "256Mi", test.change...))
				}
				solved := planner.Solve(s)
				verify(t, s, solved)
				if len(solved.Unplaced) > 0 {
					t.Fatalf("unplaced: %v", solved.Unplaced)
				}
				want := test.respected
				if policy == plan.PreferencesIgnored {
					want = test.ignored
				}
				if want >= 0 && len(solved.NodeClaims) != want {
					t.Errorf("%d new nodes, want %d", len(solved.NodeClaims), want)
				}
				if policy == plan.PreferencesRespected {
					for i, zone := range test.zones {
						if got := solved.NodeClaims[i].NodeClaim.Labels[corev1.LabelTopologyZone]; got != zone {
							t.Errorf("zone %q, want %q", got, zone)
						}
					}
				}
			})
		}
	}
}

// TestAvoidedPool checks that a plan uses a dearer pool to avoid a PreferNoSchedule taint.
func TestAvoidedPool(t *testing.T) {
	tainted := newPool("cheap", func(p *api.NodePool) {
		p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "slow", Effect: corev1.TaintEffectPreferNoSchedule}}
	})
	dear := newPool("dear", require(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, api.CapacityTypeOnDemand))
	s := realSnapshot(t, tainted, dear)
	s.Pods = []corev1.Pod{newPod("p", "1", "1Gi")}
	if solved := planner.Solve(s); len(solved.NodeClaims) != 1 ||
		solved.NodeClaims[0].NodeClaim.Labels[api.NodePoolLabelKey] != "dear" {
		t.Errorf("planned %+v", solved)
	}
	s.PreferencePolicy = plan.PreferencesIgnored
	if solved := planner.Solve(s); len(solved.NodeClaims) != 1 ||
		solved.NodeClaims[0].NodeClaim.Labels[api.NodePoolLabelKey] != "cheap" {
		t.Errorf("with preferences ignored: planned %+v", solved)
	}
}

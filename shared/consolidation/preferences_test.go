package consolidation_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planning"
)

// spreadBy is a spread over a topology, required or preferred.
func spreadBy(key string, unsatisfiable corev1.UnsatisfiableConstraintAction) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) {
		spec.TopologySpreadConstraints = append(spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: unsatisfiable,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		})
	}
}

// preferApart prefers nodes without pods of the same app.
func preferApart(spec *corev1.PodSpec) {
	spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{
				TopologyKey:   corev1.LabelHostname,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			},
		}},
	}}
}

// preferZone prefers nodes of a zone.
func preferZone(zone string) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) {
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
				Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
				}},
			}},
		}}
	}
}

// provisioned is the snapshot once the nodes of its plan run, with their pods.
func provisioned(t *testing.T, s *plan.Snapshot) *plan.Snapshot {
	t.Helper()
	decided := planning.Solve(s)
	if len(decided.Unplaced) > 0 {
		t.Fatalf("no place: %+v", decided.Unplaced)
	}
	made := *s
	made.Pods, made.Nodes = nil, slices.Clone(s.Nodes)
	for i := range decided.NodeClaims {
		planned := &decided.NodeClaims[i]
		bought := planned.Offerings[0]
		types := s.InstanceTypes["default"]
		bornAs := &types[slices.IndexFunc(types, func(t catalog.InstanceType) bool { return t.Name == bought.InstanceType })]
		offering := &bornAs.Offerings[slices.IndexFunc(bornAs.Offerings, func(o catalog.Offering) bool {
			return o.Zone == bought.Zone && o.CapacityType == bought.CapacityType
		})]
		node := consolidationtest.Node(fmt.Sprint("node-", i), "default", bornAs, offering, now.Add(-24*time.Hour))
		for _, ref := range planned.Pods {
			pod := s.Pods[slices.IndexFunc(s.Pods, func(p corev1.Pod) bool { return p.Name == ref.Name })]
			pod.Spec.NodeName = node.Node.Name
			node.Pods = append(node.Pods, pod)
		}
		made.Nodes = append(made.Nodes, node)
	}
	for _, nomination := range decided.Nominations {
		pod := s.Pods[slices.IndexFunc(s.Pods, func(p corev1.Pod) bool { return p.Name == nomination.Pod.Name })]
		pod.Spec.NodeName = nomination.NodeName
		i := slices.IndexFunc(made.Nodes, func(n plan.Node) bool { return n.Node.Name == nomination.NodeName })
		made.Nodes[i].Pods = append(slices.Clone(made.Nodes[i].Pods), pod)
	}
	return &made
}

// TestConsolidationDoesNotUndoWhatProvisionLaunches launches nodes for pods with preferences and
// spreads. While pods, prices and pools stay the same, no node of them goes.
func TestConsolidationDoesNotUndoWhatProvisionLaunches(t *testing.T) {
	const soft, hard = corev1.ScheduleAnyway, corev1.DoNotSchedule
	zones, hosts := corev1.LabelTopologyZone, corev1.LabelHostname
	for name, constraints := range map[string][]func(*corev1.PodSpec){
		"no constraint":                  {},
		"hosts, preferred":               {spreadBy(hosts, soft)},
		"zones, preferred":               {spreadBy(zones, soft)},
		"zones and hosts, preferred":     {spreadBy(zones, soft), spreadBy(hosts, soft)},
		"hosts, required":                {spreadBy(hosts, hard)},
		"zones, required":                {spreadBy(zones, hard)},
		"zones required, hosts not":      {spreadBy(zones, hard), spreadBy(hosts, soft)},
		"apart, preferred":               {preferApart},
		"a zone, preferred":              {preferZone("us-east-1c")},
		"a zone and apart, both at will": {preferApart, spreadBy(zones, soft)},
	} {
		for _, policy := range []plan.PreferencePolicy{plan.PreferencesRespected, plan.PreferencesIgnored} {
			for _, count := range []int{1, 4, 12} {
				s := cluster(someTypes(t, 8), api.CapacityTypeOnDemand)
				s.PreferencePolicy = policy
				for i := range count {
					pod := consolidationtest.Pod(fmt.Sprint("web-", i), 250, 256<<20, "web")
					for _, change := range constraints {
						change(&pod.Spec)
					}
					s.Pods = append(s.Pods, pod)
				}
				made := provisioned(t, s)
				again := consolidation.Solve(&consolidation.Input{Cluster: made, Now: now})
				if len(again.Moves)+len(again.Waiting) > 0 {
					t.Errorf("%s, %s: of %d nodes for %d pods consolidation changes some at once: %+v", name, policy, len(made.Nodes),
						count, append(again.Moves, again.Waiting...)[0])
				}
			}
		}
	}
}

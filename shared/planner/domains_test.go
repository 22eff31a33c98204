package planner_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// team is a label of the user, which pools leave open or list.
const team = "example.com/team"

func tainted(key string, effect corev1.TaintEffect) func(*api.NodePool) {
	return func(p *api.NodePool) { p.Spec.Template.Spec.Taints = []corev1.Taint{{Key: key, Effect: effect}} }
}

func ofTeam(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{team: value} }
}

func all(changes ...func(*corev1.Pod)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, change := range changes {
			change(p)
		}
	}
}

// startingNode returns a node with a claim that has registered and is not initialized.
func startingNode(name, zone string, taints []corev1.Taint, pods ...corev1.Pod) plan.Node {
	n := standingNode(name, zone, pods...)
	n.Node.Labels[api.NodeRegisteredLabelKey] = "true"
	n.Node.Spec.Taints = append(
		slices.Clone(taints),
		corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
	)
	n.NodeClaim = &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: n.Node.Labels}}
	n.NodeClaim.Spec.Taints = taints
	return n
}

// TestTopologyOfTheWholePlan checks domains that depend on where other pods of the plan go. want
// has the number of pods on nodes with each value of the key. Nodes without the label count under
// the empty value.
func TestTopologyOfTheWholePlan(t *testing.T) {
	const zone, host = corev1.LabelTopologyZone, corev1.LabelHostname
	honourTaints := func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints[0].NodeTaintsPolicy = new(corev1.NodeInclusionPolicyHonor)
	}
	tolerant := func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	}
	onArch := func(arch string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelArchStable: arch} }
	}
	someTeam := func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{
					{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: team, Operator: corev1.NodeSelectorOpExists}}},
				}}},
		}
	}
	inB := all(app("web"), zoneOf("us-east-1b"))
	arm := standingNode("arm", "us-east-1a", newPod("full", "3900m", "1Gi"))
	arm.Node.Labels[corev1.LabelArchStable] = api.ArchitectureArm64
	for _, test := range []struct {
		name     string
		pools    []api.NodePool
		nodes    []plan.Node
		pods     []func(*corev1.Pod)
		key      string
		want     map[string]int
		unplaced int
	}{
		{
			name:  "a node that starts counts, for its taints are going to pass",
			pools: []api.NodePool{newPool("default")},
			nodes: []plan.Node{startingNode("z", "us-east-1z", nil, newPod("r", "3900m", "1Gi"))},
			pods:  slices.Repeat([]func(*corev1.Pod){all(app("web"), spreadOver(zone, 1, "web"), honourTaints)}, 4),
			key:   zone, want: map[string]int{"us-east-1a": 1, "us-east-1b": 1, "us-east-1c": 1}, unplaced: 1,
		},
		{
			name:  "pods are spread over a label's value that they ask for themselves",
			pools: []api.NodePool{newPool("default", require(team, corev1.NodeSelectorOpExists))},
			pods:  slices.Repeat([]func(*corev1.Pod){all(app("web"), ofTeam("blue"), spreadOver(team, 1, "web"))}, 3),
			key:   team, want: map[string]int{"blue": 3},
		},
		{
			name: "a value that nothing lists is no domain to be level with",
			pools: []api.NodePool{newPool("any", require(team, corev1.NodeSelectorOpExists), limited(corev1.ResourceCPU, "0")),
				newPool("listed", require(team, corev1.NodeSelectorOpIn, "red"))},
			pods: slices.Repeat([]func(*corev1.Pod){all(app("web"), spreadOver(team, 1, "web"))}, 3), key: team,
			want: map[string]int{"red": 3},
		},
		{
			name:  "pods that keep away from each other by a label are not both on a node that gets it",
			pools: []api.NodePool{newPool("default", require(team, corev1.NodeSelectorOpNotIn, "green"))},
			pods: []func(*corev1.Pod){someTeam, all(app("web"), awayFrom(team, "web")),
				all(app("web"), awayFrom(team, "web"))}, key: team, want: map[string]int{"true": 2, "": 1},
		},
		{
			name:  "pods that others keep away from have values of their own",
			pools: []api.NodePool{newPool("default", require(team, corev1.NodeSelectorOpExists))},
			pods: []func(*corev1.Pod){all(app("web"), awayFrom(team, "web")), all(app("web"), awayFrom(team, "web")),
				all(app("web"), awayFrom(zone, "db"), asking("250m"))},
			key: team, want: map[string]int{"true": 1, "true-1": 1, "true-2": 1},
		},
		{
			name:  "the first of a group goes where its spread lets it",
			pools: []api.NodePool{newPool("default")},
			pods: []func(*corev1.Pod){all(app("web"), zoneOf("us-east-1a")),
				all(app("web"), func(p *corev1.Pod) { p.Labels["group"] = "g" }, spreadOver(zone, 1, "web"), nearGroup(zone))},
			key: zone, want: map[string]int{"us-east-1a": 1, "us-east-1b": 1},
		},
		{
			name:  "pods do not follow others that get no place",
			pools: []api.NodePool{newPool("default")},
			pods: []func(*corev1.Pod){all(app("db"), zoneOf("us-east-1a"), asking("1k")),
				all(app("db"), zoneOf("us-east-1b"), asking("1k")), all(app("web"), near(zone, "db"))},
			key: zone, want: map[string]int{}, unplaced: 3,
		},
		{
			name:  "a host that comes later is one to be level with",
			pools: []api.NodePool{newPool("default", tainted("avoid", corev1.TaintEffectPreferNoSchedule))},
			nodes: []plan.Node{startingNode("a", "us-east-1z",
				[]corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}})},
			pods: []func(*corev1.Pod){all(app("web"), tolerant, spreadOver(host, 1, "web")),
				all(app("web"), tolerant, spreadOver(host, 1, "web")), app("other")},
			key: zone, want: map[string]int{"us-east-1z": 1, "": 2},
		},
		{
			name:  "pods on nodes that a spread does not count do not matter to it",
			pools: []api.NodePool{newPool("default")}, nodes: []plan.Node{arm, standingNode("b", "us-east-1b")},
			pods: []func(*corev1.Pod){inB, inB, inB, all(app("x"), onArch(api.ArchitectureArm64), spreadOver(zone, 1, "web"),
				near(zone, "web"))},
			key: zone, want: map[string]int{"us-east-1b": 4},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := realSnapshot(t, test.pools...)
			s.Nodes = test.nodes
			for i, change := range test.pods {
				s.Pods = append(s.Pods, newPod(fmt.Sprint("p", i), "500m", "512Mi", change))
			}
			plan := planner.Solve(s)
			verify(t, s, plan)
			got := map[string]int{}
			for _, claim := range plan.NodeClaims {
				got[claim.NodeClaim.Labels[test.key]] += len(claim.Pods)
			}
			for _, n := range plan.Nominations {
				for i := range s.Nodes {
					if s.Nodes[i].Node.Name == n.NodeName {
						got[s.Nodes[i].Node.Labels[test.key]]++
					}
				}
			}
			if !maps.Equal(got, test.want) || len(plan.Unplaced) != test.unplaced {
				t.Errorf("pods by %s are %v, want %v; unplaced are %v", test.key, got, test.want, plan.Unplaced)
			}
		})
	}
}

func asking(cpu string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
}

func nearGroup(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{
			PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
				{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"group": "g"}}}}},
		}
	}
}

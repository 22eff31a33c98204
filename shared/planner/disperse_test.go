package planner_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
)

// replicasOf returns pods of one core of a ReplicaSet.
func replicasOf(name string, count int, change ...func(*corev1.Pod)) []corev1.Pod {
	var pods []corev1.Pod
	for i := range count {
		changes := append([]func(*corev1.Pod){app(name), ofReplicaSet(name)}, change...)
		pods = append(pods, newPod(fmt.Sprintf("%s-%d", name, i), "1", "1Gi", changes...))
	}
	return pods
}

func annotated(key, value string) func(*api.NodePool) {
	return func(p *api.NodePool) { p.Annotations = map[string]string{key: value} }
}

func ofJob(p *corev1.Pod) { p.OwnerReferences[0].Kind = "Job" }

// mostOnNode is the greatest number of pods of the ReplicaSet on one of the plan's nodes.
func mostOnNode(s *plan.Snapshot, solved *plan.Plan, owner string) int {
	most := 0
	for i := range solved.NodeClaims {
		count := 0
		for _, ref := range solved.NodeClaims[i].Pods {
			if slices.ContainsFunc(s.Pods, func(p corev1.Pod) bool {
				return plan.RefOf(&p) == ref && p.OwnerReferences[0].Name == owner
			}) {
				count++
			}
		}
		most = max(most, count)
	}
	return most
}

// TestReplicasLeaveALargeNode has pods that fit on one node of eight cores for $0.4/h, or on two of
// half the size.
func TestReplicasLeaveALargeNode(t *testing.T) {
	const key = api.DispersalPercentAnnotationKey
	two, none := 2.0, 0.0
	for _, test := range []struct {
		name string
		// half is the price of a node of half the size.
		half    float64
		pods    []corev1.Pod
		pool    []func(*api.NodePool)
		setting *float64
		want    int
	}{
		{name: "half the price", half: 0.2, pods: replicasOf("a", 6), want: 3},
		{name: "one per cent more", half: 0.2019, pods: replicasOf("a", 6), want: 3},
		{name: "two per cent more", half: 0.2035, pods: replicasOf("a", 6), want: 6},
		{name: "two per cent more by the setting", half: 0.2035, pods: replicasOf("a", 6), setting: &two, want: 3},
		{name: "two per cent more by the annotation", half: 0.2035, pods: replicasOf("a", 6),
			pool: []func(*api.NodePool){annotated(key, "2")}, setting: &none, want: 3},
		{name: "off by the annotation", half: 0.2, pods: replicasOf("a", 6),
			pool: []func(*api.NodePool){annotated(key, "0")}, want: 6},
		{name: "off by the setting", half: 0.2, pods: replicasOf("a", 6), setting: &none, want: 6},
		{name: "an annotation that cannot be read", half: 0.2, pods: replicasOf("a", 6),
			pool: []func(*api.NodePool){annotated(key, "half")}, want: 3},
		{name: "two replicas", half: 0.2, pods: replicasOf("a", 2), want: 2},
		{name: "a Job", half: 0.2, pods: replicasOf("a", 6, ofJob), want: 6},
		{name: "a spread of their own", half: 0.2, want: 6,
			pods: replicasOf("a", 6, spreadOver(corev1.LabelHostname, 6, "a"))},
		{name: "a limit that allows one node", half: 0.2, pods: replicasOf("a", 6),
			pool: []func(*api.NodePool){limited("nodes", "1")}, want: 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &plan.Snapshot{
				Pods: test.pods, NodePools: []api.NodePool{newPool("default", test.pool...)}, DispersalPercent: test.setting,
				InstanceTypes: map[string][]catalog.InstanceType{"default": {
					stagetest.Type("large", 8, 32, 0.4, "a"), stagetest.Type("half", 4, 16, test.half, "a"),
				}},
			}
			solved := planner.Solve(s)
			if got := mostOnNode(s, solved, "a"); got != test.want || len(solved.Unplaced) > 0 {
				t.Errorf("%d replicas on a node, want %d: %+v", got, test.want, solved.Unplaced)
			}
		})
	}
}

// TestReplicasChangePlaces has Deployments whose pods fill whole nodes, each with one Deployment at
// first.
func TestReplicasChangePlaces(t *testing.T) {
	s := &plan.Snapshot{
		NodePools: []api.NodePool{newPool("default")},
		InstanceTypes: map[string][]catalog.InstanceType{"default": {
			stagetest.Type("only", 4, 16, 0.4, "a"),
		}},
	}
	for _, name := range []string{"a", "b", "c"} {
		// The label makes the pods of each Deployment a pod group of their own.
		s.Pods = append(s.Pods, replicasOf(name, 4)...)
	}
	solved := planner.Solve(s)
	for _, name := range []string{"a", "b", "c"} {
		if most := mostOnNode(s, solved, name); most > 2 || len(solved.NodeClaims) != 3 {
			t.Errorf("%d replicas of %s on one of %d nodes", most, name, len(solved.NodeClaims))
		}
	}
}

// TestSpotNodesOfAWorkloadHaveNoPoolInCommon has two nodes of three replicas each, in two zones.
func TestSpotNodesOfAWorkloadHaveNoPoolInCommon(t *testing.T) {
	for _, test := range []struct {
		name    string
		percent float64 // by which the second zone is dearer
		types   int
		apart   bool
	}{
		{"equal prices", 0, 16, true},
		{"a zone that is one per cent dearer", 1, 16, true}, // half of the nodes are there
		{"a zone that is four per cent dearer", 4, 16, false},
		{"few types", 0, 3, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &plan.Snapshot{Pods: replicasOf("a", 6), InstanceTypes: map[string][]catalog.InstanceType{}}
			s.NodePools = []api.NodePool{
				newPool("default", require(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, api.CapacityTypeSpot)),
			}
			for i := range test.types {
				made := stagetest.OnSpot(stagetest.Type(fmt.Sprintf("type-%02d", i), 3, 16, 0.4, "a", "b"), 0.1)
				for at := range made.Offerings {
					if o := &made.Offerings[at]; o.Zone == "b" {
						o.Price *= 1 + test.percent/100
					}
				}
				s.InstanceTypes["default"] = append(s.InstanceTypes["default"], made)
			}
			solved := planner.Solve(s)
			if len(solved.NodeClaims) != 2 {
				t.Fatalf("%d nodes, want 2", len(solved.NodeClaims))
			}
			apart := true
			for _, o := range solved.NodeClaims[0].Offerings {
				apart = apart && !slices.ContainsFunc(solved.NodeClaims[1].Offerings, func(other plan.Choice) bool {
					return o.InstanceType == other.InstanceType && o.Zone == other.Zone
				})
			}
			if apart != test.apart {
				t.Errorf("apart: %v, want %v", apart, test.apart)
			}
			for i := range solved.NodeClaims {
				if types := len(solved.NodeClaims[i].InstanceTypes); types != test.types {
					t.Errorf("%d instance types, want %d", types, test.types)
				}
			}
		})
	}
}

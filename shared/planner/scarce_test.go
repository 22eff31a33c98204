package planner_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
)

// TestPodsWithOnePlaceGetIt lets three pods, equal ones or those of a gang, go to a pool of three nodes alone.
// Two others may go to a dearer pool as well. A plan for all five exists.
func TestPodsWithOnePlaceGetIt(t *testing.T) {
	for _, ofGang := range []bool{false, true} {
		t.Run(fmt.Sprint("of a gang: ", ofGang), func(t *testing.T) {
			few := newPool("few", limited(api.ResourceNodes, "3"),
				require(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "m6i.2xlarge"))
			s := realSnapshot(t, few, newPool("dear",
				require(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "r6i.2xlarge")))
			for i := range 5 {
				pod := newPod(fmt.Sprint("pod-", i), "6", "20Gi")
				if i >= 2 {
					pod.Spec.NodeSelector = map[string]string{api.NodePoolLabelKey: "few"}
				}
				if i >= 2 && ofGang { // its pods differ
					pod.Labels = map[string]string{api.PodGroupLabelKey: "training"}
					pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse(fmt.Sprint(18+i, "Gi"))
				}
				s.Pods = append(s.Pods, pod)
			}
			p := planner.Solve(s)
			pools := map[string]int{}
			for i := range p.NodeClaims {
				pools[p.NodeClaims[i].NodeClaim.Labels[api.NodePoolLabelKey]] += len(p.NodeClaims[i].Pods)
			}
			if len(p.Unplaced) > 0 || pools["few"] != 3 || pools["dear"] != 2 {
				t.Errorf("pods of new nodes by pool: %v, without a place %+v", pools, p.Unplaced)
			}
		})
	}
}

// TestScarcityTakesNoNodeFromAnImportantPod: the pods that may go elsewhere have a higher priority, and one
// of them needs the pool with few nodes.
func TestScarcityTakesNoNodeFromAnImportantPod(t *testing.T) {
	high := int32(1000)
	few := newPool("few", limited(api.ResourceNodes, "1"),
		require(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "m6i.2xlarge"))
	s := realSnapshot(t, few)
	for i := range 2 {
		pod := newPod(fmt.Sprint("pod-", i), "6", "20Gi")
		if i == 0 {
			pod.Spec.Priority = &high
		} else {
			pod.Spec.NodeSelector = map[string]string{corev1.LabelInstanceTypeStable: "m6i.2xlarge"}
		}
		s.Pods = append(s.Pods, pod)
	}
	p := planner.Solve(s)
	if len(p.Unplaced) != 1 || p.Unplaced[0].Pod.Name != "pod-1" {
		t.Errorf("without a place %+v, want the pod of the lower priority", p.Unplaced)
	}
}

// TestRelatedPodsWithOnePlaceGetIt is the same for pods with constraints about others: pods that keep apart from
// each other, pods that spread over zones, pods beside which others have to be, and a bystander that spreads.
func TestRelatedPodsWithOnePlaceGetIt(t *testing.T) {
	apart := stagetest.Away(corev1.LabelHostname, "strict")
	spread := stagetest.Spread(corev1.LabelTopologyZone, 1, "strict")
	together := stagetest.Near(corev1.LabelTopologyZone, "strict")
	flexibleTogether := stagetest.Near(corev1.LabelTopologyZone, "flexible")
	flexibleApart := stagetest.Away(corev1.LabelHostname, "flexible")
	flexibleSpread := stagetest.Spread(corev1.LabelTopologyZone, 1, "flexible")
	for _, test := range []struct {
		name             string
		strict, flexible func(*corev1.Pod)
		bystander        bool
	}{
		{name: "only a bystander", bystander: true},
		{name: "the strict keep apart", strict: apart}, {name: "the flexible keep apart", flexible: flexibleApart},
		{name: "the strict spread", strict: spread}, {name: "the flexible spread", flexible: flexibleSpread},
		{name: "the strict are together", strict: together},
		{name: "the flexible are together", flexible: flexibleTogether},
		{name: "all spread", strict: spread, flexible: flexibleSpread},
	} {
		t.Run(test.name, func(t *testing.T) {
			few := newPool("few", limited(api.ResourceNodes, "3"),
				require(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "m6i.2xlarge"))
			s := realSnapshot(t, few, newPool("dear",
				require(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "r6i.2xlarge")))
			for i := range 5 {
				pod := newPod(fmt.Sprint("pod-", i), "6", "20Gi")
				pod.Labels = map[string]string{"app": "flexible"}
				change := test.flexible
				if i >= 2 {
					pod.Labels["app"], change = "strict", test.strict
					pod.Spec.NodeSelector = map[string]string{api.NodePoolLabelKey: "few"}
				}
				if change != nil {
					change(&pod)
				}
				s.Pods = append(s.Pods, pod)
			}
			if test.bystander {
				pod := newPod("bystander", "6", "40Gi") // it fits no node of the scarce pool
				pod.Labels = map[string]string{"app": "bystander"}
				stagetest.Spread(corev1.LabelTopologyZone, 1, "bystander")(&pod)
				s.Pods = append(s.Pods, pod)
			}
			p := planner.Solve(s)
			for _, out := range p.Unplaced {
				t.Errorf("without a place: %s, %v", out.Pod, out.Reasons)
			}
			if violations := plantest.Check(s, p); len(violations) > 0 {
				t.Error(violations)
			}
		})
	}
}

// TestPodsAreKeptFromThoseThatCameFirst: one pod may run on each architecture, and another one keeps away from its
// architecture. A limit lets one of them have a node, so that the two are planned one after the other.
func TestPodsAreKeptFromThoseThatCameFirst(t *testing.T) {
	high := int32(1000)
	for _, important := range []string{"nobody", "first", "second"} {
		t.Run(important, func(t *testing.T) {
			s := realSnapshot(t, newPool("few", limited(corev1.ResourceMemory, "139Gi"),
				require(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "r5.2xlarge", "r6g.4xlarge"),
				require(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, api.CapacityTypeOnDemand)))
			first, second := newPod("first", "500m", "1Gi"), newPod("second", "3", "5Gi")
			first.Labels = map[string]string{"app": "first"}
			stagetest.Away(corev1.LabelArchStable, "first")(&second)
			s.Pods = []corev1.Pod{first, second}
			for i := range s.Pods {
				if s.Pods[i].Name == important {
					s.Pods[i].Spec.Priority = &high
				}
			}
			p := planner.Solve(s)
			if violations := plantest.Check(s, p); len(violations) > 0 {
				t.Error(violations)
			}
			if len(p.Unplaced) != 1 || p.Unplaced[0].Pod.Name == important {
				t.Errorf("without a place: %+v", p.Unplaced)
			}
		})
	}
}

// TestEachLoserGetsItsTurn: the pod with one place takes it from a pod with two, which takes the other one from a pod
// that has a third.
func TestEachLoserGetsItsTurn(t *testing.T) {
	s := realSnapshot(t,
		newPool("one", limited(api.ResourceNodes, "1"),
			require(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "m6i.2xlarge")),
		newPool("two", limited(api.ResourceNodes, "1"),
			require(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "m6id.2xlarge")),
		newPool("dear", require(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, "r6i.2xlarge")))
	for _, pod := range []struct {
		name, memory string
		pools        []string
	}{
		{"strict", "18Gi", []string{"one"}}, {"between", "19Gi", []string{"one", "two"}},
		{"flexible", "20Gi", []string{"two", "dear"}},
	} {
		s.Pods = append(s.Pods, newPod(pod.name, "6", pod.memory, func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: api.NodePoolLabelKey, Operator: corev1.NodeSelectorOpIn, Values: pod.pools},
					},
				}}},
			}}
		}))
	}
	if p := planner.Solve(s); len(p.Unplaced) > 0 {
		t.Errorf("without a place: %+v", p.Unplaced)
	}
}

// TestMoreOfTheSameImportance: a limit leaves room for one large pod or for two small ones of the same age. Two pods
// get a place, unless the large one is older or belongs to a gang.
func TestMoreOfTheSameImportance(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*corev1.Pod)
		out    int
	}{
		{"the same", func(*corev1.Pod) {}, 1}, {"older", createdAt(0), 2},
		{"a gang", func(p *corev1.Pod) { p.Labels = map[string]string{api.PodGroupLabelKey: "training"} }, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := realSnapshot(t, newPool("few", limited(corev1.ResourceCPU, "8"), require(corev1.LabelInstanceTypeStable,
				corev1.NodeSelectorOpIn, "m6i.2xlarge", "m6i.xlarge")))
			young := createdAt(5)
			if test.name != "older" {
				young = createdAt(0)
			}
			s.Pods = []corev1.Pod{
				newPod("large", "6", "4Gi", createdAt(0), test.change),
				newPod("small-0", "3500m", "4Gi", young), newPod("small-1", "3500m", "4Gi", young),
			}
			if p := planner.Solve(s); len(p.Unplaced) != test.out {
				t.Errorf("%d pods without a place, want %d: %+v", len(p.Unplaced), test.out, p.Unplaced)
			}
		})
	}
}

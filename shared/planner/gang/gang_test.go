package gang_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/gang"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
)

var began = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// of makes a pod a member of a gang, created some minutes after the others.
func of(name string, minutes int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Labels[api.PodGroupLabelKey] = name
		pod.CreationTimestamp = metav1.NewTime(began.Add(time.Duration(minutes) * time.Minute))
	}
}

func needs(name string, least int) plan.Gang {
	return plan.Gang{GangRef: plan.GangRef{Namespace: "default", Name: name}, MinMember: least}
}

// limited is a snapshot whose pool may have so many cores.
func limited(cores string, pods ...corev1.Pod) *plan.Snapshot {
	s := stagetest.Snapshot([]catalog.InstanceType{stagetest.Type("four", 4, 16, 0.2, "us-east-1a")}, pods...)
	s.NodePools[0].Spec.Limits = api.Limits{corev1.ResourceCPU: resource.MustParse(cores)}
	return s
}

// places counts the pods that the plan places, by the beginnings of their names.
func places(s *plan.Snapshot, decided *plan.Plan) map[string]int {
	unplaced := map[plan.PodRef]bool{}
	for _, one := range decided.Unplaced {
		unplaced[one.Pod] = true
	}
	count := map[string]int{}
	for i := range s.Pods {
		if ref := plan.RefOf(&s.Pods[i]); !unplaced[ref] {
			group, _, _ := strings.Cut(ref.Name, "-")
			count[group]++
		}
	}
	return count
}

func TestAGangIsPlannedWholeOrNotAtAll(t *testing.T) {
	for _, test := range []struct {
		name  string
		cores string
		pods  [][]corev1.Pod
		gangs []plan.Gang
		want  map[string]int
		says  string
	}{
		{
			"without gangs", "8", [][]corev1.Pod{stagetest.Pods(4, "a", "3", "1Gi")}, nil, map[string]int{"a": 2}, "limit",
		},
		{
			"with room for all", "16", [][]corev1.Pod{stagetest.Pods(4, "a", "3", "1Gi", of("a", 0))},
			[]plan.Gang{needs("a", 4)}, map[string]int{"a": 4}, "",
		},
		{
			"with room for a part", "12", [][]corev1.Pod{stagetest.Pods(4, "a", "3", "1Gi", of("a", 0))},
			[]plan.Gang{needs("a", 4)}, map[string]int{},
			`the gang "default/a" needs 4 pods at a time, of which 0 run and 3 more have a place: nothing is launched`,
		},
		{
			"with room for the least", "12", [][]corev1.Pod{stagetest.Pods(4, "a", "3", "1Gi", of("a", 0))},
			[]plan.Gang{needs("a", 3)}, map[string]int{"a": 3}, "limit",
		},
		{
			"with room for either of two", "16", [][]corev1.Pod{
				stagetest.Pods(3, "young", "3", "1Gi", of("young", 5)), stagetest.Pods(3, "old", "3", "1Gi", of("old", 0)),
			}, []plan.Gang{needs("young", 3), needs("old", 3)}, map[string]int{"old": 3}, `the gang "default/young"`,
		},
		{
			"beside one that can never be", "12", [][]corev1.Pod{
				stagetest.Pods(9, "giant", "3", "1Gi", of("giant", 0)), stagetest.Pods(3, "small", "3", "1Gi", of("small", 5)),
			}, []plan.Gang{needs("giant", 9), needs("small", 3)}, map[string]int{"small": 3}, `the gang "default/giant"`,
		},
		{
			"beside other pods", "16", [][]corev1.Pod{
				stagetest.Pods(4, "a", "3", "1Gi", of("a", 0)), stagetest.Pods(2, "b", "3", "1Gi", of("", 9)),
			}, []plan.Gang{needs("a", 5)}, map[string]int{"b": 2}, "needs 5 pods at a time, and 4 wait or run: create the others",
		},
		{
			"of a group that does not exist", "8", [][]corev1.Pod{stagetest.Pods(4, "a", "3", "1Gi", of("none", 0))},
			[]plan.Gang{needs("other", 4)}, map[string]int{"a": 2}, "limit",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := limited(test.cores)
			for _, pods := range test.pods {
				s.Pods = append(s.Pods, pods...)
			}
			s.Gangs = test.gangs
			decided := gang.Whole(planner.Solve)(s)
			if got := places(s, decided); !reflect.DeepEqual(got, test.want) {
				t.Errorf("places %v, want %v", got, test.want)
			}
			var said strings.Builder
			for _, one := range decided.Unplaced {
				for _, reason := range one.Reasons {
					said.WriteString(reason.String() + "\n")
				}
			}
			if !strings.Contains(said.String(), test.says) {
				t.Errorf("it says\n%swant %q", said.String(), test.says)
			}
			if again := gang.Whole(planner.Solve)(s); !reflect.DeepEqual(again, decided) {
				t.Error("two plans of a snapshot differ")
			}
		})
	}
}

// TestPodsThatRunCount gives a gang of which three pods run a place for the fourth.
func TestPodsThatRunCount(t *testing.T) {
	member := func(name string) corev1.Pod { return stagetest.Pod(name, "1", "1Gi", of("a", 0)) }
	s := limited("100", member("fourth"))
	s.Gangs = []plan.Gang{needs("a", 4)}
	leaving := member("leaving")
	leaving.DeletionTimestamp = &metav1.Time{Time: began}
	s.Nodes = []plan.Node{stagetest.Node("full", "us-east-1a", 3, member("one"), member("two"), member("three"))}
	if decided := gang.Whole(planner.Solve)(s); len(decided.Unplaced) > 0 || len(decided.NodeClaims) != 1 {
		t.Errorf("%+v", decided)
	}
	s.Nodes = []plan.Node{stagetest.Node("full", "us-east-1a", 3, member("one"), member("two"), leaving)}
	if decided := gang.Whole(planner.Solve)(s); len(decided.Unplaced) != 1 || len(decided.NodeClaims) > 0 {
		t.Errorf("a pod that leaves counts as running: %+v", decided)
	}
}

// TestManyGangsTakeFewPlans bounds the plans that a hostile tenant can ask for.
func TestManyGangsTakeFewPlans(t *testing.T) {
	s := limited("8")
	for i := range 40 {
		name := "gang" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		s.Pods = append(s.Pods, stagetest.Pods(3, name, "3", "1Gi", of(name, i))...)
		s.Gangs = append(s.Gangs, needs(name, 3))
	}
	plans := 0
	decided := gang.Whole(func(s *plan.Snapshot) *plan.Plan {
		plans++
		return planner.Solve(s)
	})(s)
	if plans > 7 || len(decided.Unplaced) != 120 {
		t.Errorf("%d plans, %d pods without a place", plans, len(decided.Unplaced))
	}
}

// TestPlansEndWhereNoGangIsEverWhole gives a solver that never places the last pod, whatever it is given.
func TestPlansEndWhereNoGangIsEverWhole(t *testing.T) {
	s := limited("8")
	for i := range 20 {
		name := "gang" + string(rune('a'+i))
		s.Pods = append(s.Pods, stagetest.Pods(2, name, "1", "1Gi", of(name, i))...)
		s.Gangs = append(s.Gangs, needs(name, 2))
	}
	plans := 0
	decided := gang.Whole(func(s *plan.Snapshot) *plan.Plan {
		plans++
		made := &plan.Plan{}
		if len(s.Pods) > 0 {
			made.Unplaced = []plan.Unplaced{{Pod: plan.RefOf(&s.Pods[len(s.Pods)-1])}}
		}
		return made
	})(s)
	if plans > 10 || len(decided.Unplaced) != 40 {
		t.Errorf("%d plans, %d pods without a place", plans, len(decided.Unplaced))
	}
}

// The pods of a gang that only another scheduler knows are planned one by one, and those without a place
// say so.
func TestGangsOfOtherSchedulersAreNamed(t *testing.T) {
	for want, change := range map[string]func(*corev1.Pod){
		`the PodGroup "etl" of scheduling.k8s.io`: func(pod *corev1.Pod) {
			name := "etl"
			pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
		},
		`the gang "etl" of Volcano`: func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{"scheduling.k8s.io/group-name": "etl"}
		},
		`the gang "etl" of Koordinator`: func(pod *corev1.Pod) {
			pod.Labels["pod-group.scheduling.sigs.k8s.io"] = "etl"
		},
	} {
		s := limited("8", stagetest.Pods(4, "a", "3", "1Gi", change)...)
		decided := gang.Whole(planner.Solve)(s)
		if len(decided.Unplaced) != 2 {
			t.Fatalf("%d of four pods have no place", len(decided.Unplaced))
		}
		for _, left := range decided.Unplaced {
			if last := left.Reasons[len(left.Reasons)-1].Message; len(left.Reasons) != 2 || !strings.Contains(last, want) {
				t.Errorf("reasons %v, want one with %s", left.Reasons, want)
			}
		}
	}
}

// TestAGangWithOnePlaceGetsIt: a gang fits only a pool of three nodes, which is cheaper for others too. They have
// another pool.
func TestAGangWithOnePlaceGetsIt(t *testing.T) {
	strict := func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{api.NodePoolLabelKey: "few"} }
	for _, test := range []struct {
		name        string
		gang, other []func(*corev1.Pod)
		gangs       []plan.Gang
	}{
		{"whose pods keep apart", []func(*corev1.Pod){of("a", 0), stagetest.App("a"),
			stagetest.Away(corev1.LabelHostname, "a")},
			[]func(*corev1.Pod){stagetest.App("b")}, []plan.Gang{needs("a", 3)}},
		{"in one zone", []func(*corev1.Pod){together("a", corev1.LabelTopologyZone)}, nil, []plan.Gang{needs("a", 3)}},
		{"beside another gang", []func(*corev1.Pod){of("a", 0)}, []func(*corev1.Pod){of("b", 0)},
			[]plan.Gang{needs("a", 3), needs("b", 2)}},
		{"beside pods that keep apart", []func(*corev1.Pod){of("a", 0)},
			[]func(*corev1.Pod){stagetest.App("b"), stagetest.Away(corev1.LabelHostname, "b")}, []plan.Gang{needs("a", 3)}},
		{"beside pods that spread", []func(*corev1.Pod){of("a", 0)},
			[]func(*corev1.Pod){stagetest.App("b"), stagetest.Spread(corev1.LabelTopologyZone, 1, "b")},
			[]plan.Gang{needs("a", 3)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := stagetest.Snapshot([]catalog.InstanceType{stagetest.Type("dear", 4, 20, 0.4, zoneA, zoneB)},
				append(stagetest.Pods(3, "a", "3", "1Gi", append(test.gang, strict)...),
					stagetest.Pods(2, "b", "3", "1Gi", append(test.other, created(0))...)...)...)
			s.NodePools = append(s.NodePools, stagetest.Pool("few"))
			s.NodePools[1].Spec.Limits = api.Limits{api.ResourceNodes: resource.MustParse("3")}
			s.InstanceTypes["few"] = []catalog.InstanceType{stagetest.Type("four", 4, 16, 0.2, zoneA, zoneB)}
			s.Gangs = test.gangs
			decided := gang.Whole(planner.Solve)(s)
			if got := places(s, decided); got["a"] != 3 || got["b"] != 2 {
				t.Errorf("places for %v, want 3 and 2: %+v", got, decided.Unplaced)
			}
			if wrong := plantest.Check(s, decided); len(wrong) > 0 {
				t.Error(wrong)
			}
		})
	}
}

// created sets the minutes of the pod's creation, as of does.
func created(minutes int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.CreationTimestamp = metav1.NewTime(began.Add(time.Duration(minutes) * time.Minute))
	}
}

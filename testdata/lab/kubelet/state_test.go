package kubelet_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/testdata/lab/kubelet"
)

func TestAPodWaitsForItsVolumes(t *testing.T) {
	k, p := kubelet.New(), pod("p", grace(5))
	look := func(now time.Duration, attached bool) kubelet.Verdict {
		at := moment(now)
		at.Attached = attached
		return k.Look(p, at)
	}
	if v := look(0, false); v.Mounted || !v.Again.Equal(began.Add(second)) {
		t.Errorf("without its volumes, the verdict is %+v", v)
	}
	if v := look(60*second, true); !v.Mounted || !v.Again.Equal(began.Add(61*second)) {
		t.Errorf("with its volumes, the verdict is %+v", v)
	}
	if v := look(61*second, true); v.Status == nil || v.Status.Phase != corev1.PodRunning {
		t.Errorf("a second later, the verdict is %+v", v)
	}
	deleted(70*second, 5).do(p)
	if v := look(70*second, true); !v.Mounted || v.Gone {
		t.Errorf("while the container stops, the verdict is %+v", v)
	}
	if v := look(71*second, true); v.Mounted || !v.Gone {
		t.Errorf("after the container has stopped, the verdict is %+v", v)
	}
}

func TestAPodThatIsDeletedByForceKeepsItsVolumesUntilItEnds(t *testing.T) {
	k := kubelet.New()
	story(k, pod("p", annotated("stop-for", "never")), 10*second)
	v := k.Lose("p", began.Add(20*second))
	if !v.Mounted || v.Over || v.Gone || v.Status != nil || !v.Again.Equal(began.Add(22*second)) {
		t.Errorf("at first, the verdict is %+v", v)
	}
	if v := k.Lose("p", v.Again); v.Mounted || !v.Over {
		t.Errorf("after two seconds, the verdict is %+v", v)
	}
	if v := k.Lose("p", v.Again); v != (kubelet.Verdict{Over: true}) {
		t.Errorf("the verdict about a pod that nobody knows is %+v", v)
	}
}

// TestWithoutDurationsOneLookIsEnough is for worlds that go from step to step.
func TestWithoutDurationsOneLookIsEnough(t *testing.T) {
	k, p := kubelet.New(), pod("p", initially("a"), initially("side"))
	at := kubelet.Moment{Now: began, Node: node(), Attached: true}
	v := k.Look(p, at)
	if v.Status == nil || v.Status.Phase != corev1.PodRunning || !v.Again.IsZero() {
		t.Errorf("at first, the verdict is %+v", v)
	}
	kubelet.Merge(&p.Status, v.Status)
	deleted(10*second, 30).do(p)
	at.Now = began.Add(10 * second)
	if v := k.Look(p, at); !v.Gone || v.Status.Phase != corev1.PodSucceeded {
		t.Errorf("after the deletion, the verdict is %+v", v)
	}
}

func TestAnImageIsPulledOnce(t *testing.T) {
	k := kubelet.New()
	slow := annotated("image-size", "640Mi")
	story(k, pod("first", slow), 5*second)
	compare(t, story(k, pod("second", slow), time.Minute), []string{
		"0s Pending main:ContainerCreating", "1s Pending main:ContainerCreating", "11s Running ready main:runs",
	})
	p := pod("third", slow)
	k.Look(p, moment(time.Minute))
	if v := k.Look(p, moment(time.Minute+second)); v.Status.Phase != corev1.PodRunning {
		t.Errorf("with the image, the pod is %s", v.Status.Phase)
	}
}

func TestAReboot(t *testing.T) {
	for _, test := range []struct {
		policy corev1.RestartPolicy
		want   []string
	}{
		{corev1.RestartPolicyAlways, []string{
			"0s Pending main:ContainerCreating#1", "1s Running ready main:runs#1",
		}},
		{corev1.RestartPolicyNever, []string{"0s Failed main:exit255"}},
	} {
		p := pod("p", policy(test.policy))
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}}
		compare(t, story(kubelet.New(), p, time.Minute), test.want)
	}
	ended := pod("p")
	ended.Status.Phase = corev1.PodSucceeded
	compare(t, story(kubelet.New(), ended, time.Minute), nil)
	compare(t, story(kubelet.New(), ended, time.Minute, deleted(10*second, 30)), []string{"10s gone"})
}

func TestReadinessGates(t *testing.T) {
	gate := corev1.PodConditionType("target-health.elbv2.k8s.aws/web")
	p := pod("p", func(p *corev1.Pod) { p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}} })
	healthy := act{20 * second, func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: gate, Status: corev1.ConditionTrue})
	}}
	compare(t, story(kubelet.New(), p, time.Minute, healthy), []string{
		"0s Pending main:ContainerCreating", "1s Running main:runs", "20s Running ready main:runs",
	})
}

// TestMergeKeepsTheConditionsOfOthers holds what the API server's strategic merge does.
func TestMergeKeepsTheConditionsOfOthers(t *testing.T) {
	p := pod("p")
	p.Status.NominatedNodeName = "one"
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue},
	}
	kubelet.Merge(&p.Status, kubelet.New().Look(p, moment(0)).Status)
	var kinds []corev1.PodConditionType
	for _, c := range p.Status.Conditions {
		kinds = append(kinds, c.Type)
	}
	want := []corev1.PodConditionType{
		corev1.PodScheduled, corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady,
	}
	if !slices.Equal(kinds, want) || p.Status.NominatedNodeName != "one" {
		t.Errorf("the status is %+v, want the conditions %v", p.Status, want)
	}
}

// TestLookingMoreOftenChangesNothing lets a kubelet look at random moments besides, and compares
// when the pod's changes happened.
func TestLookingMoreOftenChangesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	made := func() *corev1.Pod {
		return pod("p", initially("a"), initially("side"), grace(3), annotated("run-for.a", "3s", "run-for", "17s",
			"exit-code", "1,0,2", "unhealthy-after.side", "40s", "ready-after", "4s"), with(func(c *corev1.Container) {
			c.ReadinessProbe = probe(func(*corev1.Probe) {})
		}))
	}
	end := deleted(200*second, 30)
	want := story(kubelet.New(), made(), 300*second, end)
	for range 50 {
		acts := []act{end}
		for range 40 {
			acts = append(acts, act{time.Duration(random.Int64N(int64(300 * second))), func(*corev1.Pod) {}})
		}
		slices.SortStableFunc(acts, func(a, b act) int { return int(a.at - b.at) })
		compare(t, story(kubelet.New(), made(), 300*second, acts...), want)
	}
}

func BenchmarkLook(b *testing.B) {
	k, p := kubelet.New(), pod("p")
	k.Look(p, moment(0))
	at := moment(time.Hour)
	k.Look(p, at)
	b.ReportAllocs()
	for b.Loop() {
		k.Look(p, at)
	}
}

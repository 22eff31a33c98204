package planner_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
)

// logNormalPods have requests as production has them: most are small, a few are large, and hardly
// two are equal.
func logNormalPods(count int) []corev1.Pod {
	random := rand.New(rand.NewPCG(3, 9))
	pods := make([]corev1.Pod, count)
	for i := range pods {
		cpu := min(max(int(300*math.Exp(random.NormFloat64())), 10), 16_000)
		memory := min(max(int(float64(cpu)*3*math.Exp(0.6*random.NormFloat64())), 32), 64_000)
		pods[i] = newPod(fmt.Sprintf("pod-%05d", i), fmt.Sprintf("%dm", cpu), fmt.Sprintf("%dMi", memory))
	}
	return pods
}

// agedPods are logNormalPods of different ages.
func agedPods(count int) []corev1.Pod {
	pods := logNormalPods(count)
	for i := range pods {
		pods[i].CreationTimestamp = metav1.Unix(int64(1780000000-i), 0)
	}
	return pods
}

// limitCPU limits a NodePool to so many cores.
func limitCPU(cores string) func(*api.NodePool) {
	return func(p *api.NodePool) { p.Spec.Limits = api.Limits{corev1.ResourceCPU: kresource.MustParse(cores)} }
}

func nodeTerm(key, value string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}},
	}}
}

func podTerm(key, app string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{
		TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
	}
}

// hostilePods are pods that somebody made to be hard to plan for.
var hostilePods = []struct {
	name   string
	pods   int
	change func(pod int, p *corev1.Pod)
}{
	// Each sum or comparison of such a quantity would make a number of 100 million digits.
	{"quantities of many digits", 50, func(pod int, p *corev1.Pod) {
		requests := corev1.ResourceList{corev1.ResourceCPU: kresource.MustParse("1e100000000")}
		p.Spec.Containers[0].Resources.Requests = requests
		if pod%2 == 0 {
			p.Spec.Containers = append(p.Spec.Containers, *p.Spec.Containers[0].DeepCopy())
			p.Spec.Resources = &corev1.ResourceRequirements{Limits: requests}
		}
	}},
	{"preferred node terms", 1, func(_ int, p *corev1.Pod) {
		var terms []corev1.PreferredSchedulingTerm
		for i := range 10_000 {
			terms = append(terms, corev1.PreferredSchedulingTerm{
				Weight: int32(1 + i%100), Preference: nodeTerm("example.com/"+fmt.Sprint(i), "x"),
			})
		}
		p.Spec.Affinity = &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms},
		}
	}},
	{"spreads that may be violated", 1, func(_ int, p *corev1.Pod) {
		for i := range 2000 {
			p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
				MaxSkew: 1, TopologyKey: fmt.Sprintf("example.com/%d", i), WhenUnsatisfiable: corev1.ScheduleAnyway,
				LabelSelector: &metav1.LabelSelector{},
			})
		}
	}},
	{"preferred anti-affinity", 1, func(_ int, p *corev1.Pod) {
		var terms []corev1.WeightedPodAffinityTerm
		for i := range 3000 {
			terms = append(terms, corev1.WeightedPodAffinityTerm{
				Weight: 1, PodAffinityTerm: podTerm(corev1.LabelTopologyZone, fmt.Sprint(i)),
			})
		}
		p.Spec.Affinity = &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms},
		}
	}},
	{"preferred affinity of many pods", 200, func(pod int, p *corev1.Pod) {
		var terms []corev1.WeightedPodAffinityTerm
		for i := range 40 {
			terms = append(terms, corev1.WeightedPodAffinityTerm{
				Weight: 1, PodAffinityTerm: podTerm(fmt.Sprintf("example.com/%d-%d", pod, i), fmt.Sprint(i)),
			})
		}
		p.Spec.Affinity = &corev1.Affinity{
			PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: terms},
		}
	}},
	{"required node terms", 1, func(_ int, p *corev1.Pod) {
		var terms []corev1.NodeSelectorTerm
		for i := range 10_000 {
			terms = append(terms, nodeTerm("example.com/"+fmt.Sprint(i), "x"))
		}
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}
	}},
	{"node terms that can be met", 1, func(_ int, p *corev1.Pod) {
		var terms []corev1.NodeSelectorTerm
		for i := range 5000 {
			terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpNotIn, Values: []string{fmt.Sprint(i)},
			}}})
		}
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}
	}},
	{"required spreads", 1, func(_ int, p *corev1.Pod) {
		for i := range 2000 {
			p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
				MaxSkew: int32(1 + i), TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint(i)}},
			})
		}
	}},
	{"required anti-affinity", 1, func(_ int, p *corev1.Pod) {
		var terms []corev1.PodAffinityTerm
		for i := range 3000 {
			terms = append(terms, podTerm(corev1.LabelHostname, fmt.Sprint(i)))
		}
		p.Spec.Affinity = &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms},
		}
	}},
	{"anti-affinity in zones, of many pods", 500, func(pod int, p *corev1.Pod) {
		p.Labels["app"] = fmt.Sprint(pod)
		var terms []corev1.PodAffinityTerm
		for i := range 20 {
			terms = append(terms, podTerm(corev1.LabelTopologyZone, fmt.Sprint((pod+i)%500)))
		}
		p.Spec.Affinity = &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms},
		}
	}},
	{"host ports", 1, func(_ int, p *corev1.Pod) {
		for i := range 3000 {
			p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports, corev1.ContainerPort{
				HostPort: int32(1000 + i), ContainerPort: int32(1000 + i), Protocol: corev1.ProtocolTCP,
			})
		}
	}},
	{"extended resources", 200, func(pod int, p *corev1.Pod) {
		for i := range 20 {
			name := corev1.ResourceName(fmt.Sprintf("example.com/r%d-%d", pod, i))
			p.Spec.Containers[0].Resources.Requests[name] = kresource.MustParse("1")
		}
	}},
	{"node selectors of their own", 3000, func(pod int, p *corev1.Pod) {
		p.Spec.NodeSelector = map[string]string{"example.com/" + fmt.Sprint(pod): "x"}
	}},
	{"selectors of their own that are met", 3000, func(pod int, p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: api.LabelInstanceCPU, Operator: corev1.NodeSelectorOpNotIn, Values: []string{fmt.Sprint(pod)},
				}},
			}}},
		}}
	}},
	{"spreads of their own", 2000, func(pod int, p *corev1.Pod) {
		p.Labels["app"] = fmt.Sprint(pod)
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint(pod)}},
		}}
	}},
}

// hostileSnapshot has ordinary pods, and those of one kind of hostile pods.
func hostileSnapshot(t testing.TB, ordinary int, pods int, change func(pod int, p *corev1.Pod)) *plan.Snapshot {
	s := realSnapshot(t, newPool("default"))
	s.Pods = logNormalPods(ordinary)
	for i := range pods {
		p := newPod(fmt.Sprintf("hostile-%05d", i), "100m", "100Mi")
		p.Namespace = "hostile"
		change(i, &p)
		s.Pods = append(s.Pods, p)
	}
	return s
}

// mostAllocations bounds the work of a plan of a few thousand pods. Allocations stand for work here,
// because they are the same on every machine. A plan without limits makes about 100,000.
const mostAllocations = 3_000_000

// mostReason is the most bytes that a reason may have, whatever the pod asks for.
const mostReason = 4000

// solveWithin plans, and fails if the plan takes too much work.
func solveWithin(t *testing.T, s *plan.Snapshot) *plan.Plan {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	solved := planner.Solve(s)
	runtime.ReadMemStats(&after)
	if allocations := after.Mallocs - before.Mallocs; allocations > mostAllocations {
		t.Errorf("the plan made %d allocations, more than %d", allocations, mostAllocations)
	} else {
		t.Logf("%d allocations", allocations)
	}
	return solved
}

// TestHostilePodsKeepNobodyWaiting checks that every ordinary pod gets its place beside hostile ones,
// and that those do not make the plan take long.
func TestHostilePodsKeepNobodyWaiting(t *testing.T) {
	kinds := hostilePods
	if testing.Short() {
		kinds = kinds[:len(kinds)/4]
	}
	for _, hostile := range kinds {
		t.Run(hostile.name, func(t *testing.T) {
			s := hostileSnapshot(t, 300, hostile.pods, hostile.change)
			solved := solveWithin(t, s)
			for _, unplaced := range solved.Unplaced {
				if unplaced.Pod.Namespace != "hostile" {
					t.Fatalf("%v has no place: %v", unplaced.Pod, unplaced.Reasons)
				}
				if len(unplaced.Reasons) == 0 || unplaced.Reasons[0].Message == "" {
					t.Fatalf("%v has no place, and no reason", unplaced.Pod)
				}
				if length := len(unplaced.Reasons[0].Message); length > mostReason {
					t.Fatalf("the reason for %v has %d bytes, more than %d", unplaced.Pod, length, mostReason)
				}
			}
		})
	}
}

// TestLimitsDoNotSlowAPlan checks the work of plans of which a limit leaves out most pods, each of
// another size and age.
func TestLimitsDoNotSlowAPlan(t *testing.T) {
	aged, limits := 6000, []string{"200", "1000", "3000"}
	if testing.Short() {
		aged, limits = 1000, limits[:1]
	}
	for _, cores := range limits {
		t.Run(cores, func(t *testing.T) {
			s := realSnapshot(t, newPool("default", limitCPU(cores)))
			s.Pods = agedPods(aged)
			solved := solveWithin(t, s)
			if len(solved.NodeClaims) == 0 || len(solved.Unplaced) == 0 {
				t.Errorf("%d claims, %d pods left out", len(solved.NodeClaims), len(solved.Unplaced))
			}
		})
	}
}

// FuzzHostilePods searches for pods that make a plan take long. Each byte pair of the input adds a
// kind of constraint, so many times.
func FuzzHostilePods(f *testing.F) {
	f.Add([]byte{0, 200, 7, 10}, uint16(10))
	f.Add([]byte{6, 50, 8, 60, 13, 1}, uint16(500))
	f.Add([]byte{12, 3, 3, 5, 10, 9}, uint16(300))
	f.Fuzz(func(t *testing.T, constraints []byte, pods uint16) {
		const kinds = 14
		change := func(pod int, p *corev1.Pod) {
			for i := 0; i+1 < len(constraints) && i < 16; i += 2 {
				for n := range int(constraints[i+1]) {
					addConstraint(p, int(constraints[i])%kinds, pod, n)
				}
			}
		}
		solved := solveWithin(t, hostileSnapshot(t, 50, int(pods)%300, change))
		for _, unplaced := range solved.Unplaced {
			if unplaced.Pod.Namespace != "hostile" {
				t.Fatalf("%v has no place: %v", unplaced.Pod, unplaced.Reasons)
			}
		}
	})
}

// addConstraint adds the nth constraint of a kind to a pod. Odd kinds are different for each pod.
func addConstraint(p *corev1.Pod, kind, pod, n int) {
	own := fmt.Sprint(n)
	if kind%2 == 1 {
		own = fmt.Sprintf("%d-%d", pod, n)
	}
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{
			NodeAffinity: &corev1.NodeAffinity{}, PodAffinity: &corev1.PodAffinity{}, PodAntiAffinity: &corev1.PodAntiAffinity{},
		}
	}
	a := p.Spec.Affinity
	notIn := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpNotIn, Values: []string{own}},
	}}
	spread := corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": own}},
	}
	switch kind / 2 {
	case 0:
		a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(
			a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.PreferredSchedulingTerm{Weight: 1, Preference: notIn})
	case 1:
		if a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
			a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
		}
		required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, notIn)
	case 2:
		p.Labels["app"] = own
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, spread)
	case 3:
		spread.TopologyKey, spread.WhenUnsatisfiable = "example.com/"+own, corev1.ScheduleAnyway
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, spread)
	case 4:
		a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(
			a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, podTerm(corev1.LabelTopologyZone, own))
	case 5:
		a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(
			a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.WeightedPodAffinityTerm{Weight: 1, PodAffinityTerm: podTerm(corev1.LabelTopologyZone, own)})
	default:
		p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports, corev1.ContainerPort{
			HostPort: int32(1 + (pod*7+n)%60000), ContainerPort: 1, Protocol: corev1.ProtocolTCP,
		})
	}
}

// BenchmarkSolveHostile plans 1,000 ordinary pods beside hostile ones.
func BenchmarkSolveHostile(b *testing.B) {
	for _, hostile := range hostilePods {
		b.Run(hostile.name, func(b *testing.B) {
			measureSolve(b, hostileSnapshot(b, 1000, hostile.pods, hostile.change))
		})
	}
}

// BenchmarkSolveHostileLarge plans the largest clusters of which a plan must end within seconds:
// 10,000 ordinary pods beside as many hostile ones, or 100 of those that have thousands of terms.
func BenchmarkSolveHostileLarge(b *testing.B) {
	for _, hostile := range hostilePods {
		pods := 10_000
		if hostile.pods == 1 {
			pods = 100
		}
		b.Run(hostile.name, func(b *testing.B) { measureSolve(b, hostileSnapshot(b, 10_000, pods, hostile.change)) })
	}
}

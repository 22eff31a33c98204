package planner_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// workloads are the kinds of pods in the benchmarks.
var workloads = []struct {
	name string
	pods func(count int) []corev1.Pod
}{
	{"diverse", diversePods},
	{"deployments", deploymentPods},
	{"batch", batchPods},
}

// diversePods returns pods of five kinds in equal numbers: without constraints, spread over zones,
// spread over hosts, with affinity in a zone, and with anti-affinity on a host. They have 30 sizes
// and seven labels.
func diversePods(count int) []corev1.Pod {
	random := rand.New(rand.NewPCG(7, 1))
	cpus := []string{"100m", "250m", "500m", "1", "1500m"}
	memories := []string{"100Mi", "256Mi", "512Mi", "1Gi", "2Gi", "4Gi"}
	letter := func() string { return string(rune('a' + random.IntN(7))) }
	own := func(label string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Labels["my-label"] = label }
	}
	choosing := func(label string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"my-label": label}}
	}
	spread := func(key, label string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				TopologyKey: key, MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: choosing(label),
			}}
		}
	}
	var pods []corev1.Pod
	for i := range count {
		var changes []func(*corev1.Pod)
		switch i % 5 {
		case 0:
			changes = append(changes, own(letter()))
		case 1:
			changes = append(changes, own(letter()), spread(corev1.LabelTopologyZone, letter()))
		case 2:
			changes = append(changes, own(letter()), spread(corev1.LabelHostname, letter()))
		case 3:
			label := letter()
			changes = append(changes, app("near-"+label), near(corev1.LabelTopologyZone, "near-"+label))
		case 4:
			changes = append(changes, app("alone"), awayFrom(corev1.LabelHostname, "alone"))
		}
		pods = append(
			pods,
			newPod(fmt.Sprintf("pod-%05d", i), cpus[random.IntN(len(cpus))], memories[random.IntN(len(memories))], changes...),
		)
	}
	return pods
}

// deploymentPods returns the pods of deployments with 10 to 200 equal replicas each.
func deploymentPods(count int) []corev1.Pod {
	random := rand.New(rand.NewPCG(8, 1))
	var pods []corev1.Pod
	for deployment := 0; len(pods) < count; deployment++ {
		cpu := 50 * (1 + random.IntN(60))
		memory := cpu * (1 + random.IntN(8))
		for i := range min(10+random.IntN(191), count-len(pods)) {
			pods = append(
				pods,
				newPod(
					fmt.Sprintf("app-%03d-%03d", deployment, i),
					fmt.Sprintf("%dm", cpu),
					fmt.Sprintf("%dMi", memory),
					app(fmt.Sprint("app-", deployment)),
				),
			)
		}
	}
	return pods
}

// batchPods returns pods with log-normal requests. Hardly two of them are equal.
func batchPods(count int) []corev1.Pod {
	random := rand.New(rand.NewPCG(9, 1))
	var pods []corev1.Pod
	for i := range count {
		cpu := min(max(math.Exp(random.NormFloat64()*0.8)*700, 50), 16000)
		memory := min(max(math.Exp(random.NormFloat64()*0.9)*2000, 64), 64000)
		pods = append(
			pods,
			newPod(fmt.Sprintf("pod-%05d", i), fmt.Sprintf("%dm", int(cpu)), fmt.Sprintf("%dMi", int(memory))),
		)
	}
	return pods
}

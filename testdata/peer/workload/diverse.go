package workload

import (
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
)

// diverse are the pods that Karpenter's own benchmark of its scheduler uses: five kinds in equal
// numbers, of thirty sizes, with a label of seven values that spread constraints and affinity terms
// select by. A spread pod's own label and the one it selects are drawn apart, so most of them do
// not count themselves.
func diverse(count int) []corev1.Pod {
	random := newRandom()
	label := func(key string) map[string]string {
		return map[string]string{key: string("abcdefg"[random.IntN(7)])}
	}
	kinds := []struct {
		name   string
		change func(*corev1.Pod)
	}{
		{"generic", func(*corev1.Pod) {}},
		{"zone-spread", func(pod *corev1.Pod) {
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
				spread(corev1.LabelTopologyZone, corev1.DoNotSchedule, label("my-label")),
			}
		}},
		{"host-spread", func(pod *corev1.Pod) {
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
				spread(corev1.LabelHostname, corev1.DoNotSchedule, label("my-label")),
			}
		}},
		{"zone-affinity", func(pod *corev1.Pod) {
			pod.Labels = label("my-affinity")
			pod.Spec.Affinity = together(corev1.LabelTopologyZone, pod.Labels)
		}},
		{"host-anti-affinity", func(pod *corev1.Pod) {
			pod.Labels = map[string]string{"app": "nginx"}
			pod.Spec.Affinity = apart(corev1.LabelHostname, pod.Labels)
		}},
	}
	pods := make([]corev1.Pod, 0, count)
	for k, kind := range kinds {
		each := count / len(kinds)
		if k == 0 {
			each = count - each*(len(kinds)-1)
		}
		for i := range each {
			pod := newPod(podName(kind.name, i), diverseRequests(random), label("my-label"))
			kind.change(&pod)
			pods = append(pods, pod)
		}
	}
	return pods
}

func diverseRequests(random *rand.Rand) requests {
	cpu, memory := []int64{100, 250, 500, 1000, 1500}, []int64{100, 256, 512, 1024, 2048, 4096}
	return requests{milliCPU: cpu[random.IntN(len(cpu))], memory: memory[random.IntN(len(memory))] * mebibyte}
}

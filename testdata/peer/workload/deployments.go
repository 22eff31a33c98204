package workload

import (
	"fmt"
	"math"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
)

// deployments are groups of 10 to 200 equal replicas. A replica asks for 50 milli-cpu to 4 cpus,
// small ones being as frequent as big ones, and for 1 to 8 GiB of memory a cpu.
func deployments(count int) []corev1.Pod {
	random := newRandom()
	pods := make([]corev1.Pod, 0, count)
	for group := 0; len(pods) < count; group++ {
		name := fmt.Sprintf("deployment-%03d", group)
		replicas := min(10+random.IntN(191), count-len(pods))
		size := deploymentRequests(random)
		for i := range replicas {
			pods = append(pods, newPod(podName(name, i), size, map[string]string{"app": name}))
		}
	}
	return pods
}

func deploymentRequests(random *rand.Rand) requests {
	const smallest, biggest, step = 50, 4000, 50
	milliCPU := int64(math.Round(smallest*math.Pow(biggest/smallest, random.Float64())/step)) * step
	return requests{milliCPU: milliCPU, memory: milliCPU * (1 << random.IntN(4)) * 1024 / 1000 * mebibyte}
}

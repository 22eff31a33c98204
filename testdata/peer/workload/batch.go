package workload

import (
	"math"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
)

// batch are jobs whose requests are log-normal: half a cpu and 1.5 GiB in the middle, a factor of e
// a standard deviation apart, and cpu and memory independent of each other. No two ask for the
// same.
func batch(count int) []corev1.Pod {
	random := newRandom()
	seen := make(map[requests]bool, count)
	pods := make([]corev1.Pod, 0, count)
	for len(pods) < count {
		r := requests{
			milliCPU: int64(logNormal(random, 500, 20, 32_000)),
			memory:   int64(logNormal(random, 1536*mebibyte, 64*mebibyte, 128*1024*mebibyte)) / kibibyte * kibibyte,
		}
		if seen[r] {
			continue
		}
		seen[r] = true
		pods = append(pods, newPod(podName("job", len(pods)), r, map[string]string{"app": "batch"}))
	}
	return pods
}

// logNormal draws around a median, within bounds.
func logNormal(random *rand.Rand, median, least, most float64) float64 {
	return min(max(median*math.Exp(random.NormFloat64()), least), most)
}

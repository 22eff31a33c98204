package planner_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/resource"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// largeCluster returns a cluster of 200 apps with twenty running pods on each node. The waiting
// pods have five kinds in equal numbers: without constraints, spread over zones, spread over hosts,
// with affinity in a zone, and with anti-affinity on a host.
func largeCluster(t testing.TB, nodes, waiting int) *plan.Snapshot {
	random := rand.New(rand.NewPCG(1, 2))
	s := realSnapshot(t, newPool("default"))
	sizes := [][2]string{{"100m", "128Mi"}, {"250m", "512Mi"}, {"300m", "1Gi"}, {"500m", "256Mi"}}
	for i := range nodes {
		zone := "us-east-1" + string(rune('a'+i%3))
		var pods []corev1.Pod
		for j := range 20 {
			n := random.IntN(200)
			size := sizes[n%len(sizes)]
			changes := []func(*corev1.Pod){app(fmt.Sprintf("app-%d", n))}
			if n%10 == 9 {
				changes = append(changes, awayFrom(corev1.LabelHostname, fmt.Sprintf("other-%d", n)))
			}
			pods = append(pods, newPod(fmt.Sprintf("run-%d-%d", i, j), size[0], size[1], changes...))
		}
		node := standingNode(fmt.Sprintf("node-%05d", i), zone, pods...)
		node.Node.Labels[corev1.LabelInstanceTypeStable] = "m5.2xlarge"
		node.Node.Labels[api.NodePoolLabelKey] = "default"
		node.Node.Labels[api.CapacityTypeLabelKey] = api.CapacityTypeOnDemand
		node.Node.Status.Allocatable[corev1.ResourceCPU] = *resource.QuantityOf(corev1.ResourceCPU, 7910)
		s.Nodes = append(s.Nodes, node)
	}
	for i := range waiting {
		n := random.IntN(200)
		name := fmt.Sprintf("app-%d", n)
		size := sizes[n%len(sizes)]
		changes := []func(*corev1.Pod){app(name)}
		switch i % 5 {
		case 1:
			changes = append(changes, spreadOver(corev1.LabelTopologyZone, 3, name))
		case 2:
			changes = append(changes, spreadOver(corev1.LabelHostname, 2, name))
		case 3:
			changes = append(changes, near(corev1.LabelTopologyZone, name))
		case 4:
			changes = append(changes, awayFrom(corev1.LabelHostname, name))
		}
		s.Pods = append(s.Pods, newPod(fmt.Sprintf("wait-%d", i), size[0], size[1], changes...))
	}
	return s
}

// BenchmarkLargeCluster plans 1,000 waiting pods in a cluster of 5,000 nodes with 100,000 running
// pods. The nodes have room in one case and are full in the other.
func BenchmarkLargeCluster(b *testing.B) {
	for _, full := range []bool{false, true} {
		b.Run(map[bool]string{false: "with room", true: "full"}[full], func(b *testing.B) {
			s := largeCluster(b, 5000, 1000)
			if full {
				for i := range s.Nodes {
					s.Nodes[i].Node.Status.Allocatable[corev1.ResourcePods] = *resource.QuantityOf(corev1.ResourcePods, 20)
				}
			}
			runtime.GC()
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				solved := planner.Solve(s)
				if len(solved.Unplaced) > 0 {
					b.Fatalf("%d pods have no place: %v", len(solved.Unplaced), solved.Unplaced[0])
				}
				b.ReportMetric(float64(len(solved.NodeClaims)), "nodes")
			}
			b.StopTimer()
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			b.ReportMetric(float64(stats.Sys>>20), "MiB")
		})
	}
}

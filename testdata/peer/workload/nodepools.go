package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

const (
	teamLabel = "example.com/team"
	rackLabel = "example.com/rack"
)

// nodePools has a pool that is preferred and soon full, one of small nodes that may have a few
// only, a tainted one with labels of its own, and one that takes the rest. A fifth of the pods asks
// for the tainted pool, a fifth for one of its racks.
func nodePools(count int, capacityTypes []string, types []catalog.InstanceType) *plan.Snapshot {
	random := newRandom()
	team := corev1.Taint{Key: teamLabel, Value: "data", Effect: corev1.TaintEffectNoSchedule}
	s := newSnapshot(
		nil,
		types,
		newPool(
			"preferred",
			capacityTypes,
			weight(50),
			limit(corev1.ResourceCPU, "100"),
			require(api.LabelInstanceFamily, "m5", "m6i", "m6a", "m7i", "m7a"),
		),
		newPool("small", capacityTypes, weight(30), limit(api.ResourceNodes, "10"), require(api.LabelInstanceCPU, "2", "4")),
		newPool("data", capacityTypes, weight(60), require(rackLabel, "r1", "r2"), func(p *api.NodePool) {
			p.Spec.Template.Labels = map[string]string{teamLabel: "data"}
			p.Spec.Template.Spec.Taints = []corev1.Taint{team}
		}),
		newPool("rest", capacityTypes),
	)
	s.DaemonSets = []appsv1.DaemonSet{agent()}
	for i := range count {
		pod := newPod(podName("web", i), diverseRequests(random), map[string]string{"app": "web"})
		if i%5 < 2 {
			pod.Spec.Tolerations = []corev1.Toleration{
				{Key: team.Key, Operator: corev1.TolerationOpEqual, Value: team.Value, Effect: team.Effect},
			}
			pod.Spec.NodeSelector = map[string]string{teamLabel: "data"}
		}
		if i%5 == 1 {
			pod.Spec.NodeSelector[rackLabel] = "r2"
		}
		s.Pods = append(s.Pods, pod)
	}
	return s
}

func weight(w int32) func(*api.NodePool) {
	return func(p *api.NodePool) { p.Spec.Weight = &w }
}

func limit(name corev1.ResourceName, quantity string) func(*api.NodePool) {
	return func(p *api.NodePool) { p.Spec.Limits = api.Limits{name: resource.MustParse(quantity)} }
}

// agent runs on every node, whatever its taints.
func agent() appsv1.DaemonSet {
	set := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "agent", UID: "uid-agent"}}
	pod := newPod("agent", requests{milliCPU: 150, memory: 200 * mebibyte}, map[string]string{"app": "agent"})
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	set.Spec.Selector = selector(pod.Labels)
	set.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec}
	return set
}

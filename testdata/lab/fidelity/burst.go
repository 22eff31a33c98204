package fidelity

import (
	"fmt"
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BurstLabel is on the pods and on the nodes of a burst. No other pods run on these nodes.
const BurstLabel = "example.com/burst"

// groupLabel is on the pods of one group of a burst.
const groupLabel = "example.com/group"

// The sizes of a burst.
const (
	fewestPods, mostPods = 20, 500
	mostGroups           = 6
	// mostApart is the largest group whose pods need a node each.
	mostApart = 6
	// urgent is the PriorityClass of about a third of the groups. Their pods preempt others.
	urgent = "fidelity-urgent"
)

// Agent says whether a burst has a DaemonSet, and when it comes.
type Agent int

// An agent in time is part of the plan. A late one is created once the burst is planned, before its nodes
// have joined.
const (
	NoAgent Agent = iota
	AgentInTime
	LateAgent
)

// AgentOf is the agent of the burst of a seed: four of ten have one in time, and one of ten a late one.
func AgentOf(seed uint64) Agent {
	switch chance := rand.New(rand.NewPCG(seed, 1)).Float64(); {
	case chance < 0.4:
		return AgentInTime
	case chance < 0.5:
		return LateAgent
	}
	return NoAgent
}

// daemonSet is the agent of the burst with the name. It runs on each of its nodes.
func daemonSet(name string) *appsv1.DaemonSet {
	labels := map[string]string{"example.com/agent": name}
	noGrace := int64(0)
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{BurstLabel: name}, TerminationGracePeriodSeconds: &noGrace,
					Containers: []corev1.Container{container(150, 200)},
				},
			},
		},
	}
}

// container requests thousandths of a CPU and MiB.
func container(milli, memory int64) corev1.Container {
	return corev1.Container{
		Name: "app", Image: "registry.k8s.io/pause:3.10",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(milli, resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(memory<<20, resource.BinarySI),
		}},
	}
}

// Pods are the pods of the burst with the name, by a seed: 20 to 500 in up to six groups. Their order
// is random. The pods of a group are alike. Some groups spread over zones or nodes, keep apart, or
// stay in one zone. Some have a higher priority.
func Pods(name string, seed uint64) []*corev1.Pod {
	random := rand.New(rand.NewPCG(seed, 0))
	// Small bursts are as frequent as large ones.
	left := fewestPods + int(float64(mostPods-fewestPods)*random.Float64()*random.Float64())
	var pods []*corev1.Pod
	for group := 1; left > 0; group++ {
		count := 1 + random.IntN(left)
		if group == mostGroups {
			count = left
		}
		left -= count
		template := groupOf(name, fmt.Sprintf("%s-%d", name, group), count, random)
		for i := range count {
			pod := template.DeepCopy()
			pod.Name = fmt.Sprintf("%s-%d", pod.Labels[groupLabel], i)
			pods = append(pods, pod)
		}
	}
	random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	return pods
}

// groupOf is a pod of a new group.
func groupOf(burst, group string, count int, random *rand.Rand) *corev1.Pod {
	milli := []int64{100, 250, 500, 1000, 2000, 4000}[random.IntN(6)]
	memory := milli * []int64{1, 2, 4, 8}[random.IntN(4)] // MiB for each CPU thousandth: 1 to 8 GiB a CPU
	noGrace := int64(0)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{BurstLabel: burst, groupLabel: group}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{BurstLabel: burst}, TerminationGracePeriodSeconds: &noGrace,
			Containers: []corev1.Container{container(milli, memory)},
		},
	}
	if random.Float64() < 0.3 {
		pod.Spec.PriorityClassName = urgent
	}
	constrain(pod, count, random)
	return pod
}

// constrain gives about half of the groups a rule about the places of their pods.
func constrain(pod *corev1.Pod, count int, random *rand.Rand) {
	same := &metav1.LabelSelector{MatchLabels: map[string]string{groupLabel: pod.Labels[groupLabel]}}
	spread := func(key string) {
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: same,
		}}
	}
	term := func(key string) []corev1.PodAffinityTerm {
		return []corev1.PodAffinityTerm{{LabelSelector: same, TopologyKey: key}}
	}
	switch chance := random.Float64(); {
	case chance < 0.2:
		spread(corev1.LabelTopologyZone)
	case chance < 0.25:
		spread(corev1.LabelHostname)
	case chance < 0.35:
		pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: term(corev1.LabelTopologyZone),
		}}
	case chance < 0.6 && count <= mostApart:
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: term(corev1.LabelHostname),
		}}
	}
}

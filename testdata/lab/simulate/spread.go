package simulate

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// spreadOver lets each domain have at most one pod of the workload more than another one.
func spreadOver(l *workload, key string, unless corev1.UnsatisfiableConstraintAction,
) []corev1.TopologySpreadConstraint {
	return []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: unless,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": l.name}},
	}}
}

// company is how many pods of the pod's workload are in the domain of each node, for a pod that
// prefers a domain with few; nil for others.
func company(pod *corev1.Pod, nodes []*corev1.Node, pods []*corev1.Pod) map[string]int {
	spread := pod.Spec.TopologySpreadConstraints
	if len(spread) == 0 || spread[0].WhenUnsatisfiable != corev1.ScheduleAnyway {
		return nil
	}
	domainOf, counts := map[string]string{}, map[string]int{}
	for _, node := range nodes {
		domainOf[node.Name] = node.Labels[spread[0].TopologyKey]
	}
	for _, other := range pods {
		if other.Labels["app"] == pod.Labels["app"] && other.DeletionTimestamp == nil {
			counts[domainOf[other.Spec.NodeName]]++
		}
	}
	of := map[string]int{}
	for node, domain := range domainOf {
		of[node] = counts[domain]
	}
	return of
}

// fullZones are the zones that have as many pods of the pod's workload as its spread allows, as
// kube-scheduler counts: zones of the nodes that the pod selects, and pods that do not end.
func (r *Run) fullZones(pod *corev1.Pod, nodes []*corev1.Node, pods []*corev1.Pod) map[string]bool {
	spread := pod.Spec.TopologySpreadConstraints
	if len(spread) == 0 || spread[0].WhenUnsatisfiable != corev1.DoNotSchedule {
		return nil
	}
	counts, zoneOf := map[string]int{}, map[string]string{}
	for _, node := range nodes {
		if selects(pod, node) {
			zone := node.Labels[corev1.LabelTopologyZone]
			zoneOf[node.Name] = zone
			counts[zone] += 0
		}
	}
	for _, other := range pods {
		zone, counted := zoneOf[other.Spec.NodeName]
		if counted && other.Labels["app"] == pod.Labels["app"] && other.DeletionTimestamp == nil {
			counts[zone]++
		}
	}
	least := len(pods)
	for _, count := range counts {
		least = min(least, count)
	}
	full := map[string]bool{}
	for zone, count := range counts {
		full[zone] = count+1-least > int(spread[0].MaxSkew)
	}
	return full
}

// selects reports whether the node has the labels that the pod asks for.
func selects(pod *corev1.Pod, node *corev1.Node) bool {
	for key, value := range pod.Spec.NodeSelector {
		if node.Labels[key] != value {
			return false
		}
	}
	return true
}

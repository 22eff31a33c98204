package simulate

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// agent is the name of the DaemonSet that some seeds have.
const agent = "agent"

// makeDaemons lets some seeds have a DaemonSet, of which each node has a pod.
func (r *Run) makeDaemons() error {
	e := r.engine
	if !e.Chance(0.4, agent) {
		return nil
	}
	labels := map[string]string{"app": agent}
	set := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: agent, Namespace: metav1.NamespaceSystem}}
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	set.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
		SchedulerName: corev1.DefaultSchedulerName,
		Tolerations:   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		Containers: []corev1.Container{{Name: "main", Image: "pause",
			Resources: size(int64(e.Number(1, 6, agent, "cpu"))*50, int64(e.Number(1, 4, agent, "memory"))*64)}},
	}}
	_, err := r.store.Create(apiserver.DaemonSets, set)
	return err
}

// tend makes a pod for each node without one, as the controller of a DaemonSet does.
func (r *Run) tend() {
	for _, set := range apiserver.List[appsv1.DaemonSet](r.store, apiserver.DaemonSets) {
		tended := map[string]bool{}
		for _, pod := range apiserver.List[corev1.Pod](r.store, apiserver.Pods) {
			if isDaemon(pod) && pod.OwnerReferences[0].UID == set.UID {
				tended[pinnedTo(pod)] = true
			}
		}
		for _, node := range apiserver.List[corev1.Node](r.store, apiserver.Nodes) {
			if tended[node.Name] || node.DeletionTimestamp != nil {
				continue
			}
			if _, err := r.store.Create(apiserver.Pods, daemonPod(set, node)); err != nil {
				r.violate("a pod of the daemon set cannot be made: %v", err)
				return
			}
		}
	}
}

// daemonPod is the pod of the set for the node. The scheduler binds it by its affinity.
func daemonPod(set *appsv1.DaemonSet, node *corev1.Node) *corev1.Pod {
	controller := true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: set.Name + "-" + node.Name + "-" + string(node.UID), Namespace: set.Namespace,
		Labels: set.Spec.Template.Labels, Annotations: set.Spec.Template.Annotations,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "DaemonSet", Name: set.Name, UID: set.UID, Controller: &controller,
		}},
	}, Spec: *set.Spec.Template.Spec.DeepCopy()}
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{
				Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node.Name},
			}},
		}}},
	}}
	for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
		})
	}
	pod.Status.Phase = corev1.PodPending
	return pod
}

func isDaemon(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return owner.Kind == "DaemonSet"
	})
}

// pinnedTo is the node that the pod of a DaemonSet is for, and empty for other pods.
func pinnedTo(pod *corev1.Pod) string {
	if !isDaemon(pod) {
		return ""
	}
	terms := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	return terms[0].MatchFields[0].Values[0]
}

// agentTakes is what the pod of the DaemonSet takes of each node: millicores and bytes.
func (r *Run) agentTakes() (cpu, memory int64) {
	for _, set := range apiserver.List[appsv1.DaemonSet](r.store, apiserver.DaemonSets) {
		return requests(&corev1.Pod{Spec: set.Spec.Template.Spec})
	}
	return 0, 0
}

package crash

import (
	"encoding/json"
	"fmt"
	"hash/fnv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// control does what Kubernetes' own controllers do for the scenarios' objects: they taint nodes,
// count disruption budgets, and roll Deployments out. It reports whether anything has changed.
func (m *model) control() (changed bool, err error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	before := m.store.Version()
	for _, node := range apiserver.List[corev1.Node](m.store, apiserver.Nodes) {
		apiserver.Update(m.store, apiserver.Nodes, "", node.Name, m.taint)
	}
	for _, deployment := range apiserver.List[appsv1.Deployment](m.store, apiserver.Deployments) {
		if err := m.rollOut(deployment); err != nil {
			return false, err
		}
	}
	for _, budget := range apiserver.List[policyv1.PodDisruptionBudget](m.store, apiserver.Budgets) {
		apiserver.Update(m.store, apiserver.Budgets, budget.Namespace, budget.Name, m.count)
	}
	return m.store.Version() > before, nil
}

// taint gives a node the taints of its readiness. It reports whether they differ from those before.
func (m *model) taint(node *corev1.Node) bool {
	wanted := ""
	for _, condition := range node.Status.Conditions {
		switch {
		case condition.Type != corev1.NodeReady || condition.Status == corev1.ConditionTrue:
		case condition.Status == corev1.ConditionFalse:
			wanted = corev1.TaintNodeNotReady
		default:
			wanted = corev1.TaintNodeUnreachable
		}
	}
	changed := false
	var kept []corev1.Taint
	for _, taint := range node.Spec.Taints {
		of := taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable
		if of && taint.Key != wanted {
			changed = true
			continue
		}
		if taint.Key == wanted {
			wanted = "" // it has both taints
		}
		kept = append(kept, taint)
	}
	if wanted != "" {
		now := metav1.NewTime(m.world.now())
		kept = append(kept, corev1.Taint{Key: wanted, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &now},
			corev1.Taint{Key: wanted, Effect: corev1.TaintEffectNoExecute, TimeAdded: &now})
		changed = true
	}
	node.Spec.Taints = kept
	return changed
}

// count writes the status of a budget with a minimum.
func (m *model) count(budget *policyv1.PodDisruptionBudget) bool {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return false
	}
	before, healthy, expected := budget.Status, int32(0), int32(0)
	for _, pod := range apiserver.List[corev1.Pod](m.store, apiserver.Pods) {
		if pod.Namespace != budget.Namespace || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		expected++
		if pod.DeletionTimestamp == nil && isReady(pod) {
			healthy++
		}
	}
	least := budget.Spec.MinAvailable.IntVal
	budget.Status.CurrentHealthy, budget.Status.DesiredHealthy = healthy, least
	budget.Status.ExpectedPods, budget.Status.ObservedGeneration = expected, budget.Generation
	budget.Status.DisruptionsAllowed = max(healthy-least, 0)
	now := budget.Status
	return before.CurrentHealthy != now.CurrentHealthy || before.ObservedGeneration != now.ObservedGeneration ||
		before.DisruptionsAllowed != now.DisruptionsAllowed || before.ExpectedPods != now.ExpectedPods
}

// rollOut makes the pod of a Deployment's present template. Once it is ready, it deletes those of
// earlier templates, because none may be unavailable.
func (m *model) rollOut(deployment *appsv1.Deployment) error {
	encoded, err := json.Marshal(deployment.Spec.Template)
	if err != nil {
		return err
	}
	sum := fnv.New32a()
	_, _ = sum.Write(encoded) // a hash takes everything
	set := fmt.Sprintf("%s-%08x", deployment.Name, sum.Sum32())
	var ready int32
	var present, earlier []*corev1.Pod
	for _, pod := range apiserver.List[corev1.Pod](m.store, apiserver.Pods) {
		owner := metav1.GetControllerOf(pod)
		switch {
		case owner == nil || owner.Kind != "ReplicaSet" || pod.DeletionTimestamp != nil:
			continue
		case owner.Name == set:
			present = append(present, pod)
		default:
			earlier = append(earlier, pod)
		}
		if isReady(pod) {
			ready++
		}
	}
	switch {
	case len(present) == 0:
		err = m.replicate(deployment, set)
	case isReady(present[0]):
		for _, pod := range earlier {
			m.store.Delete(m.store.Get(apiserver.Pods, pod.Namespace, pod.Name), nil)
			ready--
		}
	}
	wrote := func(d *appsv1.Deployment) bool {
		d.Status.ObservedGeneration, d.Status.UpdatedReplicas, d.Status.ReadyReplicas = d.Generation, 1, ready
		return true
	}
	apiserver.Update(m.store, apiserver.Deployments, deployment.Namespace, deployment.Name, wrote)
	return err
}

// replicate makes the pod of a ReplicaSet, and the ReplicaSet where there is none.
func (m *model) replicate(deployment *appsv1.Deployment, name string) error {
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: deployment.Namespace, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment")),
		},
	}}
	made := m.store.Get(apiserver.ReplicaSets, set.Namespace, set.Name)
	if made == nil {
		var err error
		if made, err = m.store.Create(apiserver.ReplicaSets, set); err != nil {
			return err
		}
	}
	pod := &corev1.Pod{ObjectMeta: *deployment.Spec.Template.ObjectMeta.DeepCopy(), Spec: deployment.Spec.Template.Spec}
	pod.GenerateName, pod.Namespace, pod.Status.Phase = name+"-", deployment.Namespace, corev1.PodPending
	pod.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(made.Meta, appsv1.SchemeGroupVersion.WithKind("ReplicaSet")),
	}
	_, err := m.store.Create(apiserver.Pods, pod)
	return err
}

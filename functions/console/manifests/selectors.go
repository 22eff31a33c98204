package manifests

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/spread"
)

// setSelectors collects the selectors of services and controllers. The pods that expand makes for a
// Deployment have it as their ReplicaSet.
func (r *reader) setSelectors() {
	add := func(kind spread.Kind, meta *metav1.ObjectMeta, selector *metav1.LabelSelector) {
		r.manifests.Selectors = append(r.manifests.Selectors, spread.Selector{
			Kind: kind, Namespace: meta.Namespace, Name: meta.Name, Selector: selector,
		})
	}
	for i := range r.services {
		s := &r.services[i]
		add(spread.Service, &s.ObjectMeta, &metav1.LabelSelector{MatchLabels: s.Spec.Selector})
	}
	for i := range r.controllers {
		c := &r.controllers[i]
		add(spread.ReplicationController, &c.ObjectMeta, &metav1.LabelSelector{MatchLabels: c.Spec.Selector})
	}
	for i := range r.deployments {
		add(spread.ReplicaSet, &r.deployments[i].ObjectMeta, r.deployments[i].Spec.Selector)
	}
	for i := range r.replicaSets {
		add(spread.ReplicaSet, &r.replicaSets[i].ObjectMeta, r.replicaSets[i].Spec.Selector)
	}
	for i := range r.statefulSets {
		add(spread.StatefulSet, &r.statefulSets[i].ObjectMeta, r.statefulSets[i].Spec.Selector)
	}
}

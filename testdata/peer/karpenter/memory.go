package karpenter

import (
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// memory serves the objects of a cluster as the controller's cache does: copies, and pods by their
// node's name without looking at all the others. What it does not have is empty. Karpenter's
// methods of disruption read through it a great deal, and the client for tests takes its time.
type memory struct {
	client.Client
	pools      []*karpenterv1.NodePool
	nodes      map[string]*corev1.Node
	pods       map[string][]*corev1.Pod // by their node's name
	namespaces []corev1.Namespace
	daemonSets []appsv1.DaemonSet
}

func (m *memory) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	switch object := object.(type) {
	case *corev1.Node:
		if node := m.nodes[key.Name]; node != nil {
			node.DeepCopyInto(object)
			return nil
		}
	case *karpenterv1.NodePool:
		for _, pool := range m.pools {
			if pool.Name == key.Name {
				pool.DeepCopyInto(object)
				return nil
			}
		}
	}
	return errors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", object)}, key.Name)
}

func (m *memory) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := client.ListOptions{}
	asked.ApplyOptions(options)
	switch list := list.(type) {
	case *corev1.PodList:
		m.listPods(list, &asked)
	case *karpenterv1.NodePoolList:
		for _, pool := range m.pools {
			list.Items = append(list.Items, *pool.DeepCopy())
		}
	case *corev1.NodeList:
		for _, name := range slices.Sorted(maps.Keys(m.nodes)) {
			list.Items = append(list.Items, *m.nodes[name].DeepCopy())
		}
	case *corev1.NamespaceList:
		for i := range m.namespaces {
			if asked.LabelSelector == nil || asked.LabelSelector.Matches(labels.Set(m.namespaces[i].Labels)) {
				list.Items = append(list.Items, *m.namespaces[i].DeepCopy())
			}
		}
	case *appsv1.DaemonSetList:
		for i := range m.daemonSets {
			list.Items = append(list.Items, *m.daemonSets[i].DeepCopy())
		}
	case *policyv1.PodDisruptionBudgetList:
	default:
		return fmt.Errorf("there is no list of %T in memory", list)
	}
	return nil
}

func (m *memory) listPods(list *corev1.PodList, asked *client.ListOptions) {
	add := func(pods []*corev1.Pod) {
		for _, pod := range pods {
			if (asked.Namespace == "" || pod.Namespace == asked.Namespace) &&
				(asked.LabelSelector == nil || asked.LabelSelector.Matches(labels.Set(pod.Labels))) {
				list.Items = append(list.Items, *pod.DeepCopy())
			}
		}
	}
	if asked.FieldSelector != nil {
		if node, named := asked.FieldSelector.RequiresExactMatch("spec.nodeName"); named {
			add(m.pods[node])
			return
		}
	}
	for _, node := range slices.Sorted(maps.Keys(m.pods)) {
		add(m.pods[node])
	}
}

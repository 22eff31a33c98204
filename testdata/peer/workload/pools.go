package workload

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/plan"
)

const nodeClassName = "default"

// newPool makes a node pool of the capacity types, and lets the caller change it.
func newPool(name string, capacityTypes []string, changes ...func(*api.NodePool)) api.NodePool {
	pool := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
		Group: api.AWSGroup,
		Kind:  api.EC2NodeClassKind,
		Name:  nodeClassName,
	}
	require(api.CapacityTypeLabelKey, capacityTypes...)(&pool)
	for _, change := range changes {
		change(&pool)
	}
	return pool
}

func require(key string, values ...string) func(*api.NodePool) {
	return func(p *api.NodePool) {
		p.Spec.Template.Spec.Requirements = append(
			p.Spec.Template.Spec.Requirements,
			api.NodeSelectorRequirementWithMinValues{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values},
		)
	}
}

// newSnapshot has the pools, each with all the instance types.
func newSnapshot(pods []corev1.Pod, types []catalog.InstanceType, pools ...api.NodePool) *plan.Snapshot {
	s := &plan.Snapshot{
		Pods: pods, NodePools: pools, NodeClasses: []api.EC2NodeClass{*catalogtest.NodeClass(nodeClassName)},
		InstanceTypes: map[string][]catalog.InstanceType{},
		Namespaces: []corev1.Namespace{
			{
				ObjectMeta: metav1.ObjectMeta{
					Name:   metav1.NamespaceDefault,
					Labels: map[string]string{corev1.LabelMetadataName: metav1.NamespaceDefault},
				},
			},
		},
	}
	for i := range pools {
		s.InstanceTypes[pools[i].Name] = types
	}
	return s
}

// onePool is an empty cluster with one pool, for pods that a function makes a number of.
func onePool(pods func(int) []corev1.Pod) func(int, []string, []catalog.InstanceType) *plan.Snapshot {
	return func(count int, capacityTypes []string, types []catalog.InstanceType) *plan.Snapshot {
		return newSnapshot(pods(count), types, newPool("default", capacityTypes))
	}
}

func ignoringPreferences(
	snapshot func(int, []string, []catalog.InstanceType) *plan.Snapshot,
) func(int, []string, []catalog.InstanceType) *plan.Snapshot {
	return func(count int, capacityTypes []string, types []catalog.InstanceType) *plan.Snapshot {
		s := snapshot(count, capacityTypes, types)
		s.PreferencePolicy = plan.PreferencesIgnored
		return s
	}
}

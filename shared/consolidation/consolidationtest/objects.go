package consolidationtest

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

// Pool is a NodePool of the capacity types with consolidateAfter 0s.
func Pool(name string, capacityTypes ...string) api.NodePool {
	pool := api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
		Group: api.AWSGroup,
		Kind:  api.EC2NodeClassKind,
		Name:  "default",
	}
	pool.Spec.Template.Spec.Requirements = []api.NodeSelectorRequirementWithMinValues{
		{Key: api.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: capacityTypes},
	}
	pool.Default()
	return pool
}

// Node is a node of the offering with its claim, initialized at the time.
func Node(name, pool string, t *catalog.InstanceType, offering *catalog.Offering, at time.Time) plan.Node {
	labels := t.Requirements.Labels()
	maps.Copy(labels, offering.Requirements.Labels())
	labels[corev1.LabelTopologyZone], labels[api.CapacityTypeLabelKey] = offering.Zone, offering.CapacityType
	labels[api.NodePoolLabelKey] = pool
	labels[api.LabelInstanceTenancy] = api.TenancyDefault
	if offering.ZoneID != "" {
		labels[api.LabelTopologyZoneID] = offering.ZoneID
	}
	if offering.ReservationID != "" {
		labels[api.LabelCapacityReservationID] = offering.ReservationID
	}
	claim := &api.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:              pool + "-" + name,
			UID:               types.UID("uid-claim-" + name),
			Labels:            labels,
			CreationTimestamp: metav1.NewTime(at),
		},
	}
	claim.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "default"}
	return Joined(name, claim, t, labels, at)
}

// Joined is the claim with the node that it has become.
func Joined(
	name string,
	claim *api.NodeClaim,
	t *catalog.InstanceType,
	labels map[string]string,
	at time.Time,
) plan.Node {
	claim.Status.ProviderID, claim.Status.NodeName = "aws:///"+labels[corev1.LabelTopologyZone]+"/i-"+name, name
	claim.Status.Capacity, claim.Status.Allocatable = t.Capacity.DeepCopy(), t.Allocatable.DeepCopy()
	for _, condition := range []string{
		api.ConditionTypeLaunched, api.ConditionTypeRegistered, api.ConditionTypeInitialized, api.ConditionReady,
	} {
		claim.Status.Conditions = append(
			claim.Status.Conditions,
			metav1.Condition{
				Type:               condition,
				Status:             metav1.ConditionTrue,
				Reason:             condition,
				LastTransitionTime: metav1.NewTime(at),
			},
		)
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:              name,
			UID:               types.UID("uid-" + name),
			CreationTimestamp: metav1.NewTime(at),
			Labels: map[string]string{
				corev1.LabelHostname: name, api.NodeRegisteredLabelKey: "true", api.NodeInitializedLabelKey: "true",
			},
		},
	}
	maps.Copy(node.Labels, labels)
	node.Spec.ProviderID, node.Spec.Taints = claim.Status.ProviderID, claim.Spec.Taints
	node.Status.Capacity, node.Status.Allocatable = t.Capacity.DeepCopy(), t.Allocatable.DeepCopy()
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return plan.Node{Node: node, NodeClaim: claim}
}

// Pod is a replica of a Deployment. Its cpu is in thousandths of a core, its memory in bytes.
func Pod(name string, cpu, memory int64, app string) corev1.Pod {
	controller := true
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: metav1.NamespaceDefault, Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"app": app},
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID("uid-rs-" + app), Controller: &controller},
		},
	}}
	pod.Spec.Containers = []corev1.Container{
		{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(cpu, resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
		}}},
	}
	return pod
}

// Bind makes the pod run on the node since the time.
func Bind(pod *corev1.Pod, node string, at time.Time) {
	pod.Spec.NodeName = node
	pod.Status = corev1.PodStatus{
		Phase:     corev1.PodRunning,
		StartTime: &metav1.Time{Time: at},
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)},
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)},
		},
	}
}

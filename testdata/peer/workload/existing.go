package workload

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

// existingNodes has 48 nodes of three sizes, of which every sixth is still on its way. The others
// run pods that take up to half of them; new pods want to be spread over zones with those, or on
// other hosts than those, or have no wishes. Nodes of sizes that are not among the types are left
// away.
func existingNodes(count int, capacityTypes []string, types []catalog.InstanceType) *plan.Snapshot {
	const nodes = 48
	random := newRandom()
	s := newSnapshot(nil, types, newPool("default", capacityTypes))
	for i := range nodes {
		name := [...]string{"m5.large", "m5.xlarge", "c5.2xlarge"}[i%3]
		index := slices.IndexFunc(types, func(t catalog.InstanceType) bool { return t.Name == name })
		if index < 0 {
			continue
		}
		node := existingNode(fmt.Sprintf("node-%02d", i), &types[index], zones[i/3%len(zones)], capacityTypes[0], i%6 != 5)
		if node.Node != nil {
			for j := range 1 + i%3 {
				pod := newPod(
					fmt.Sprintf("running-%02d-%d", i, j),
					requests{milliCPU: 150 + 100*int64(random.IntN(4)), memory: 512 * mebibyte},
					map[string]string{"app": "web"},
				)
				if j == 0 && i%4 == 0 {
					pod.Labels = map[string]string{"app": "single"}
					pod.Spec.Affinity = apart(corev1.LabelHostname, pod.Labels)
				}
				pod.Spec.NodeName = node.Node.Name
				pod.Status = corev1.PodStatus{Phase: corev1.PodRunning}
				node.Pods = append(node.Pods, pod)
			}
		}
		s.Nodes = append(s.Nodes, node)
	}
	for i := range count {
		pod := newPod(podName("new", i), diverseRequests(random), map[string]string{"app": "other"})
		switch i % 5 {
		case 0, 1:
			pod.Labels = map[string]string{"app": "web"}
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
				spread(corev1.LabelTopologyZone, corev1.DoNotSchedule, pod.Labels),
			}
		case 2:
			pod.Labels = map[string]string{"app": "single"}
			pod.Spec.Affinity = apart(corev1.LabelHostname, pod.Labels)
		}
		s.Pods = append(s.Pods, pod)
	}
	return s
}

// existingNode is a node of the type with its claim; without joined, the claim alone, whose
// instance has been launched.
func existingNode(name string, t *catalog.InstanceType, zone, capacityType string, joined bool) plan.Node {
	labels := t.Requirements.Labels()
	labels[corev1.LabelTopologyZone] = zone
	labels[api.CapacityTypeLabelKey] = capacityType
	labels[api.NodePoolLabelKey] = "default"
	labels[api.LabelInstanceTenancy] = api.TenancyDefault
	for i := range t.Offerings {
		if t.Offerings[i].Zone == zone {
			labels[api.LabelTopologyZoneID] = t.Offerings[i].ZoneID
		}
	}
	providerID := "aws:///" + zone + "/i-" + name
	claim := &api.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "default-" + name, UID: types.UID("uid-claim-" + name), Labels: labels},
	}
	claim.Spec.NodeClassRef = &api.NodeClassReference{Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: nodeClassName}
	claim.Status.ProviderID = providerID
	claim.Status.Capacity, claim.Status.Allocatable = t.Capacity.DeepCopy(), t.Allocatable.DeepCopy()
	claim.Status.Conditions = []metav1.Condition{
		{Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue, Reason: api.ConditionTypeLaunched},
	}
	result := plan.Node{NodeClaim: claim}
	if !joined {
		return result
	}
	claim.Status.NodeName = name
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{
			corev1.LabelHostname: name, api.NodeRegisteredLabelKey: "true", api.NodeInitializedLabelKey: "true",
		}},
	}
	for key, value := range labels {
		node.Labels[key] = value
	}
	node.Spec.ProviderID = providerID
	node.Status.Capacity, node.Status.Allocatable = claim.Status.Capacity.DeepCopy(), claim.Status.Allocatable.DeepCopy()
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	result.Node = node
	for _, condition := range []string{api.ConditionTypeRegistered, api.ConditionTypeInitialized, api.ConditionReady} {
		claim.Status.Conditions = append(
			claim.Status.Conditions,
			metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: condition},
		)
	}
	return result
}

// InFlight is a node of the pool that EC2 has launched for a plan and that has not joined yet.
func InFlight(name string, chosen plan.Choice, types []catalog.InstanceType) (plan.Node, error) {
	index := slices.IndexFunc(types, func(t catalog.InstanceType) bool { return t.Name == chosen.InstanceType })
	if index < 0 {
		return plan.Node{}, fmt.Errorf("there is no instance type %s", chosen.InstanceType)
	}
	return existingNode(name, &types[index], chosen.Zone, chosen.CapacityType, false), nil
}

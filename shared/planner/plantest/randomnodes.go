package plantest

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

func (g *generator) makeNodes() {
	if g.chance(20) {
		return
	}
	for i := range g.IntN(9) {
		t := &g.types[g.IntN(len(g.types))]
		if len(t.Offerings) == 0 {
			continue
		}
		g.makeNode(fmt.Sprintf("node-%d", i), t, &t.Offerings[g.IntN(len(t.Offerings))])
	}
}

// makeNode makes a node in one of the states of its life, with pods.
func (g *generator) makeNode(name string, t *catalog.InstanceType, offering *catalog.Offering) {
	labels := t.Requirements.Labels()
	maps.Copy(labels, offering.Requirements.Labels())
	maps.Copy(labels, map[string]string{
		corev1.LabelTopologyZone: offering.Zone, api.LabelTopologyZoneID: offering.ZoneID,
		api.CapacityTypeLabelKey: offering.CapacityType,
	})
	if offering.ReservationID != "" {
		labels[api.LabelCapacityReservationID] = offering.ReservationID
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid("node", name), Labels: labels}}
	node.Spec.ProviderID = "aws:///" + offering.Zone + "/i-" + name
	node.Status.Capacity, node.Status.Allocatable = t.Capacity.DeepCopy(), t.Allocatable.DeepCopy()
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	n := plan.Node{Node: node}
	if g.chance(70) {
		n.NodeClaim = g.claimOf(node, &g.s.NodePools[g.IntN(len(g.s.NodePools))])
	} else if g.chance(15) {
		node.Spec.Taints = []corev1.Taint{g.dedicated()}
	}
	labels[corev1.LabelHostname] = name
	if g.chance(6) {
		node.Spec.Unschedulable = true
		node.Spec.Taints = append(
			node.Spec.Taints,
			corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
		)
	}
	if g.chance(25) {
		node := name
		g.s.CSINodes = append(g.s.CSINodes, csiNode(node, int32(g.IntN(4))))
	}
	leaving, started := false, true
	switch {
	case n.NodeClaim == nil:
		leaving = g.chance(8)
		if leaving {
			node.DeletionTimestamp, node.Finalizers = pointer(deletedAt()), []string{"karpenter.sh/termination"}
		}
	case g.chance(14):
		leaving = true
		if g.chance(50) {
			n.NodeClaim.DeletionTimestamp = pointer(deletedAt())
		} else {
			n.NodeClaim.Status.Conditions = append(n.NodeClaim.Status.Conditions,
				metav1.Condition{Type: api.ConditionTypeInstanceTerminating, Status: metav1.ConditionTrue})
		}
		node.Spec.Taints = append(node.Spec.Taints, api.DisruptedNoScheduleTaint())
	case g.chance(30):
		started = false
		g.starting(&n)
	}
	if started {
		g.fill(&n, leaving)
	}
	g.s.Nodes = append(g.s.Nodes, n)
}

// claimOf makes the NodeClaim of a node, and gives the node the labels and taints of its pool.
func (g *generator) claimOf(node *corev1.Node, pool *api.NodePool) *api.NodeClaim {
	template := &pool.Spec.Template
	for key, value := range template.Labels {
		node.Labels[key] = value
	}
	for _, r := range template.Spec.Requirements {
		if r.Operator == corev1.NodeSelectorOpIn && slices.Contains(customLabels(), r.Key) {
			node.Labels[r.Key] = oneOf(g, r.Values...)
		}
	}
	node.Labels[api.NodePoolLabelKey] = pool.Name
	node.Labels[api.LabelNodeClass] = "default"
	claim := &api.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:   pool.Name + "-" + node.Name,
			UID:    uid("claim", node.Name),
			Labels: maps.Clone(node.Labels),
		},
	}
	claim.Spec.NodeClassRef, claim.Spec.Taints, claim.Spec.StartupTaints = template.Spec.NodeClassRef,
		template.Spec.Taints, template.Spec.StartupTaints
	claim.Status.ProviderID, claim.Status.NodeName = node.Spec.ProviderID, node.Name
	claim.Status.Capacity, claim.Status.Allocatable = node.Status.Capacity.DeepCopy(), node.Status.Allocatable.DeepCopy()
	for _, name := range []string{api.ConditionTypeLaunched, api.ConditionTypeRegistered, api.ConditionTypeInitialized} {
		claim.Status.Conditions = append(claim.Status.Conditions, metav1.Condition{Type: name, Status: metav1.ConditionTrue})
	}
	node.Spec.Taints = slices.Clone(template.Spec.Taints)
	node.Labels[api.NodeRegisteredLabelKey], node.Labels[api.NodeInitializedLabelKey] = "true", "true"
	return claim
}

// starting returns a node to a state before it initialized. Either it has registered, but has
// startup taints and lacks the resources of device plugins. Or it has joined but not registered. Or
// it has launched but not joined.
func (g *generator) starting(n *plan.Node) {
	claim, node := n.NodeClaim, n.Node
	delete(node.Labels, api.NodeInitializedLabelKey)
	claim.Status.Conditions = claim.Status.Conditions[:2]
	switch g.IntN(4) {
	case 0, 1:
		node.Spec.Taints = append(node.Spec.Taints, claim.Spec.StartupTaints...)
		node.Spec.Taints = append(
			node.Spec.Taints,
			corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
		)
		for _, name := range []corev1.ResourceName{api.ResourceNVIDIAGPU, api.ResourceAWSNeuron, api.ResourceAWSPodENI} {
			delete(node.Status.Allocatable, name)
			delete(node.Status.Capacity, name)
		}
		return
	case 2:
		// Before registration a node has little more than the kubelet's labels.
		node.Labels = map[string]string{corev1.LabelHostname: node.Name}
		node.Spec.Taints = []corev1.Taint{
			api.UnregisteredNoExecuteTaint(),
			{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
		}
		claim.Status.NodeName = ""
	case 3:
		n.Node = nil
		claim.Status.NodeName = ""
	}
	claim.Status.Conditions = claim.Status.Conditions[:1]
}

// fill puts pods of daemon sets and apps on a running node, as far as it has room. Most pods of a
// leaving node also wait for a place elsewhere.
func (g *generator) fill(n *plan.Node, leaving bool) {
	room := amountsOf(n.Node.Status.Allocatable)
	add := func(pod corev1.Pod) bool {
		asked := podRequests(&pod)
		for name, amount := range asked {
			if amount > room[name] {
				return false
			}
		}
		for name, amount := range asked {
			room[name] -= amount
		}
		pod.Spec.NodeName = n.Node.Name
		pod.Status = corev1.PodStatus{
			Phase:      corev1.PodRunning,
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}},
		}
		n.Pods = append(n.Pods, pod)
		return true
	}
	for i := range g.s.DaemonSets {
		set := &g.s.DaemonSets[i]
		d := newDaemon(set)
		if d.runsOn(labelSet{n.Node.Labels}, n.Node.Spec.Taints, n.Node.Name) && g.chance(80) {
			pod := corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: fmt.Sprintf("%s-%d", set.Name, g.number())},
				Spec:       *set.Spec.Template.Spec.DeepCopy(),
			}
			if c := &pod.Spec.Containers[0]; c.Resources.Requests == nil {
				c.Resources.Requests = c.Resources.Limits.DeepCopy()
			}
			pod.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "DaemonSet", Name: set.Name, UID: set.UID, Controller: pointer(true)},
			}
			add(pod)
		}
	}
	for range g.IntN(6) {
		claims, volumes := len(g.s.PersistentVolumeClaims), len(g.s.PersistentVolumes)
		pod := g.podOf(&g.apps[g.IntN(len(g.apps))])
		if !add(pod) {
			g.s.PersistentVolumeClaims, g.s.PersistentVolumes = g.s.PersistentVolumeClaims[:claims],
				g.s.PersistentVolumes[:volumes]
			continue
		}
		placed := &n.Pods[len(n.Pods)-1]
		switch {
		case leaving && g.chance(75):
			if g.chance(15) {
				g.giveLocalVolume(placed, n.Node.Labels[corev1.LabelHostname])
			}
			g.s.Pods = append(g.s.Pods, *placed.DeepCopy())
		case g.chance(4):
			placed.DeletionTimestamp = pointer(deletedAt())
		case g.chance(4):
			placed.Status.Phase = oneOf(g, corev1.PodSucceeded, corev1.PodFailed)
		}
	}
}

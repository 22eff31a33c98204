package nodeclaim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

const (
	conditionTrue    = metav1.ConditionTrue
	conditionFalse   = metav1.ConditionFalse
	conditionUnknown = metav1.ConditionUnknown
)

// setLaunched shows that the claim has an instance. Provision writes that with the provider id, but
// somebody else may have written the id alone.
func (p *pass) setLaunched() {
	if !p.is(api.ConditionTypeLaunched) {
		p.condition(api.ConditionTypeLaunched, conditionTrue, "", "")
	}
}

// untilEvent is the time until the next look for a node that has not joined. The watch sees it, where there is one.
// A node that has joined is looked at more often, because each look nominates its pods again.
func (p *pass) untilEvent() time.Duration {
	if p.view.Watched {
		return eventPause
	}
	return joinPause
}

// register gives a node that has joined what its claim holds for it: labels, annotations, taints,
// the finalizer and the owner. After that pods may run on it.
func (p *pass) register() {
	if p.is(api.ConditionTypeRegistered) {
		p.unregister()
	}
	if p.is(api.ConditionTypeRegistered) {
		p.hold()
		p.tag()
		return
	}
	switch len(p.view.Nodes) {
	case 0:
		p.lookAgain(p.untilEvent())
		if p.claim.Status.NodeName == "" {
			api.SetNodeNotFound(&p.claim.Status.Conditions, p.claim.Generation, p.now)
		}
		return
	case 1:
		p.lookAgain(joinPause)
	default:
		p.lookAgain(joinPause)
		p.reportSeveralNodes()
		return
	}
	if !p.registrable() {
		p.reportMissingTaint()
		return
	}
	if !p.proven() {
		return
	}
	if !p.placed() {
		return
	}
	if p.reserves() {
		p.reserve()
		return
	}
	if slices.ContainsFunc(p.node.Spec.Taints, isUnregistered) {
		p.syncNode()
	}
	p.node.Labels[api.NodeRegisteredLabelKey] = "true"
	p.claim.Status.NodeName = p.node.Name
	p.condition(api.ConditionTypeRegistered, conditionTrue, "", "")
	p.log("registered nodeclaim")
	p.recordTransition(api.ConditionTypeRegistered)
	p.tag()
}

// registrable reports whether the claim has one node, which its kubelet has made as a new one or which was
// registered before.
func (p *pass) registrable() bool {
	return len(p.view.Nodes) == 1 && (slices.ContainsFunc(p.node.Spec.Taints, isUnregistered) ||
		p.node.Labels[api.NodeRegisteredLabelKey] == "true")
}

// proven reports whether the node is known to be the claim's. EC2 has to tell the instance's name before
// the node gets what its claim holds for it.
func (p *pass) proven() bool {
	proven := p.view.proves(p.node)
	if !proven && p.view.hostName() == "" {
		p.condition(api.ConditionTypeRegistered, conditionUnknown, api.ReasonNodeNotFound,
			"EC2 has not told the instance's private DNS name yet, by which node "+p.node.Name+" is known to be its own")
	}
	return proven
}

func (p *pass) reportSeveralNodes() {
	names := make([]string, len(p.view.Nodes))
	for i, node := range p.view.Nodes {
		names[i] = node.Name
	}
	slices.Sort(names)
	p.condition(api.ConditionTypeRegistered, conditionUnknown, api.ReasonMultipleNodesFound,
		fmt.Sprintf("Invariant violated, matched multiple nodes: %s have the same providerID %s: "+
			"delete those that no kubelet runs",
			strings.Join(names, ", "), p.claim.Status.ProviderID))
}

func (p *pass) reportMissingTaint() {
	changed := p.condition(api.ConditionTypeRegistered, conditionFalse, api.ReasonUnregisteredTaintNotFound,
		"Invariant violated, "+api.UnregisteredTaintKey+" taint must be present on Karpenter-managed nodes")
	if !changed {
		return
	}
	p.record(disruption.AboutClaim(p.claim), corev1.EventTypeWarning, "UnregisteredTaintMissing",
		api.UnregisteredTaintKey+" taint is missing which prevents registration: "+
			"add it to the kubelet's registerWithTaints")
}

// syncNode copies to the node what the claim holds for it, and removes the taint that kept pods off until then.
func (p *pass) syncNode() {
	node, spec := p.node, p.claim.Spec
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	for _, requirement := range spec.Requirements {
		fixed := requirement.Operator == corev1.NodeSelectorOpIn && len(requirement.Values) == 1
		if fixed && requirement.Key != corev1.LabelHostname {
			node.Labels[requirement.Key] = requirement.Values[0]
		}
	}
	for key, value := range p.claim.Labels {
		if key != api.LabelInstanceID {
			node.Labels[key] = value
		}
	}
	for key, value := range p.claim.Annotations {
		// Whittle's own annotations are of no use on the node.
		if !strings.HasPrefix(key, api.OwnGroup+"/") {
			node.Annotations[key] = value
		}
	}
	if node.Labels[api.NodeDoNotSyncTaintsLabelKey] != "true" {
		node.Spec.Taints = mergeTaints(node.Spec.Taints, spec.Taints)
		node.Spec.Taints = mergeTaints(node.Spec.Taints, spec.StartupTaints)
	}
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isUnregistered)
	if !slices.Contains(node.Finalizers, api.TerminationFinalizer) {
		node.Finalizers = append(node.Finalizers, api.TerminationFinalizer)
	}
	block := true
	owner := metav1.OwnerReference{
		APIVersion: api.APIVersion, Kind: api.NodeClaimKind, Name: p.claim.Name, UID: p.claim.UID,
		BlockOwnerDeletion: &block,
	}
	owned := func(reference metav1.OwnerReference) bool { return reference.UID == owner.UID }
	if !slices.ContainsFunc(node.OwnerReferences, owned) {
		node.OwnerReferences = append(node.OwnerReferences, owner)
	}
}

// InPartition reports whether the claim's instance is in a placement group and its partition is not
// known yet. Only EC2's description of the instance names the partition.
func InPartition(claim *api.NodeClaim) bool {
	return claim.Labels[api.LabelPlacementGroupID] != "" && claim.Labels[api.LabelPlacementGroupPartition] == ""
}

// placed labels the claim with the partition of its instance, and reports whether that is known.
// Pods that are spread over partitions must not run on the node before.
func (p *pass) placed() bool {
	if !InPartition(p.claim) {
		return true
	}
	instance := p.view.Instance()
	if instance == nil {
		return false
	}
	if instance.Partition > 0 {
		p.claim.Labels[api.LabelPlacementGroupPartition] = strconv.Itoa(instance.Partition)
	}
	return true
}

// mergeTaints adds the taints whose key and effect the node does not have.
func mergeTaints(taints, more []corev1.Taint) []corev1.Taint {
	for _, taint := range more {
		if !hasTaint(taints, taint) {
			taints = append(taints, taint)
		}
	}
	return taints
}

func hasTaint(taints []corev1.Taint, wanted corev1.Taint) bool {
	return slices.ContainsFunc(taints, func(taint corev1.Taint) bool { return taint.MatchTaint(&wanted) })
}

func isUnregistered(taint corev1.Taint) bool { return taint.Key == api.UnregisteredTaintKey }

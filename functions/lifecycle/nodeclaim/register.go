package nodeclaim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

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

// launch notes that the claim has an instance. Who launched it writes that with the
// provider id; another hand may have written the id alone.
func (p *pass) launch() {
	if !p.is(api.ConditionTypeLaunched) {
		p.condition(api.ConditionTypeLaunched, conditionTrue, "", "")
	}
}

// register gives a node that has joined what its claim says of it: labels,
// annotations, taints, the finalizer and its owner. Then pods may come.
func (p *pass) register() {
	if p.is(api.ConditionTypeRegistered) {
		p.tag()
		return
	}
	p.lookAgain(joinPause)
	switch len(p.view.Nodes) {
	case 0:
		api.AwaitNode(&p.claim.Status.Conditions, p.claim.Generation, p.now)
		return
	case 1:
	default:
		names := make([]string, len(p.view.Nodes))
		for i, node := range p.view.Nodes {
			names[i] = node.Name
		}
		slices.Sort(names)
		p.condition(api.ConditionTypeRegistered, conditionUnknown, api.ReasonMultipleNodesFound,
			fmt.Sprintf("Nodes %s have the same providerID %s: delete those that no kubelet runs", strings.Join(names, ", "), p.claim.Status.ProviderID))
		return
	}
	unregistered := slices.ContainsFunc(p.node.Spec.Taints, isUnregistered)
	if !unregistered && p.node.Labels[api.NodeRegisteredLabelKey] != "true" {
		changed := p.condition(api.ConditionTypeRegistered, conditionFalse, api.ReasonUnregisteredTaintNotFound,
			"Invariant violated, "+api.UnregisteredTaintKey+" taint must be present on Karpenter-managed nodes")
		if !changed {
			return
		}
		p.record(disruption.AboutClaim(p.claim), corev1.EventTypeWarning, "UnregisteredTaintMissing",
			api.UnregisteredTaintKey+" taint is missing which prevents registration: add it to the kubelet's registerWithTaints")
		return
	}
	if !p.placed() {
		return
	}
	if unregistered {
		p.syncNode()
	}
	p.claim.Status.NodeName = p.node.Name
	p.condition(api.ConditionTypeRegistered, conditionTrue, "", "")
	p.say("registered nodeclaim")
	p.transition(api.ConditionTypeRegistered)
	p.tag()
}

// syncNode makes the node what the claim says, on the copy: one patch brings all
// of it, and takes the taint away that kept pods off until then.
func (p *pass) syncNode() {
	node, spec := p.node, p.claim.Spec
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	if node.Annotations == nil {
		node.Annotations = map[string]string{}
	}
	for _, requirement := range spec.Requirements {
		if requirement.Operator == corev1.NodeSelectorOpIn && len(requirement.Values) == 1 && requirement.Key != corev1.LabelHostname {
			node.Labels[requirement.Key] = requirement.Values[0]
		}
	}
	for key, value := range p.claim.Labels {
		if key != api.LabelInstanceID {
			node.Labels[key] = value
		}
	}
	node.Labels[api.NodeRegisteredLabelKey] = "true"
	for key, value := range p.claim.Annotations {
		// What Whittle notes on the claim for itself is of no use on the node.
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
		APIVersion: api.APIVersion, Kind: api.NodeClaimKind, Name: p.claim.Name, UID: p.claim.UID, BlockOwnerDeletion: &block,
	}
	owned := func(reference metav1.OwnerReference) bool { return reference.UID == owner.UID }
	if !slices.ContainsFunc(node.OwnerReferences, owned) {
		node.OwnerReferences = append(node.OwnerReferences, owner)
	}
}

// InPartition tells whether the claim's instance is in a placement group and it is not
// known yet in which partition of it, if it has any. EC2 says so of the instance alone.
func InPartition(claim *api.NodeClaim) bool {
	return claim.Labels[api.LabelPlacementGroupID] != "" && claim.Labels[api.LabelPlacementGroupPartition] == ""
}

// placed labels the claim with its instance's partition, and tells whether that is known:
// pods that are spread over partitions must not come before.
func (p *pass) placed() bool {
	if !InPartition(p.claim) {
		return true
	}
	instance := p.view.instance()
	if instance == nil {
		return false
	}
	if instance.Partition > 0 {
		p.claim.Labels[api.LabelPlacementGroupPartition] = strconv.Itoa(instance.Partition)
	}
	return true
}

// tag names the instance after its cluster, its node and its claim, once these are known
// and EC2 has shown which tags it has. What Karpenter launched long ago lacks the first.
func (p *pass) tag() {
	instance := p.view.instance()
	done := p.claim.Annotations[api.AnnotationInstanceTagged] == "true" && p.claim.Annotations[api.AnnotationClusterNameTagged] == "true"
	if p.node == nil || instance == nil || done {
		return
	}
	tags := map[string]string{}
	for key, value := range map[string]string{api.NameTagKey: p.node.Name, api.NodeClaimTagKey: p.claim.Name, api.EKSClusterNameTagKey: p.view.Cluster} {
		if _, present := instance.Tags[key]; !present {
			tags[key] = value
		}
	}
	if len(tags) > 0 {
		p.do(Tag{InstanceID: instance.ID, Tags: tags})
	}
	p.annotate(api.AnnotationInstanceTagged, "true")
	p.annotate(api.AnnotationClusterNameTagged, "true")
}

// mergeTaints adds the taints that the node does not have by key and effect.
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

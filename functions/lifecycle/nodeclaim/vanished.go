package nodeclaim

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/membership"
)

// nodeReturnTimeout is how long the instance of a vanished node may take to join again. Its pods
// have lost their places, and its capacity counts as on its way.
const nodeReturnTimeout = 2 * time.Minute

// unregister takes back the registration of a node that has vanished without its finalizer, and of
// one that its kubelet has created again since. The second lacks everything that the claim held for
// the first, and has the taint that keeps pods off.
func (p *pass) unregister() {
	vanished := len(p.view.Nodes) == 0
	created := p.node != nil && slices.ContainsFunc(p.node.Spec.Taints, isUnregistered)
	if !vanished && !created {
		return
	}
	name := p.claim.Status.NodeName
	message := "Node " + name + " has vanished"
	p.condition(api.ConditionTypeRegistered, conditionUnknown, api.ReasonNodeNotFound, message)
	if p.is(api.ConditionTypeInitialized) {
		p.condition(api.ConditionTypeInitialized, conditionUnknown, api.ReasonNodeNotFound, message)
	}
	p.log("node vanished without its finalizer", "created-again", created)
	p.record(disruption.AboutClaim(p.claim), corev1.EventTypeWarning, "NodeVanished",
		"The node "+name+" was removed without its finalizer: unless its kubelet creates it again within "+
			nodeReturnTimeout.String()+", the instance is terminated")
}

// hold restores the finalizer of a registered node, without which a deleted node would vanish, and its
// pods with it. It restores the labels by which others choose the node: its kubelet may remove them.
func (p *pass) hold() {
	if p.node == nil || p.node.DeletionTimestamp != nil {
		return
	}
	if !slices.Contains(p.node.Finalizers, api.TerminationFinalizer) {
		p.node.Finalizers = append(p.node.Finalizers, api.TerminationFinalizer)
	}
	if labels := membership.Labels(p.claim, p.node); labels != nil {
		if p.node.Labels == nil {
			p.node.Labels = map[string]string{}
		}
		maps.Copy(p.node.Labels, labels)
	}
}

// overdue reports whether the instance has not joined in time, for the first time or again. A node that
// has joined is not overdue, however long nobody has looked: this pass registers it.
func (p *pass) overdue() bool {
	switch {
	case p.is(api.ConditionTypeRegistered), p.registrable():
		return false
	case p.claim.Status.NodeName == "":
		return p.launchedFor() >= registrationTimeout
	case len(p.view.Nodes) == 0:
		return p.since(api.ConditionTypeRegistered) >= nodeReturnTimeout
	}
	return p.since(api.ConditionTypeRegistered) >= registrationTimeout
}

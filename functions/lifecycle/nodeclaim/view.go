package nodeclaim

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/binding"
	"github.com/whittle-dev/whittle/shared/disruption"
	"github.com/whittle-dev/whittle/shared/disruption/drift"
	"github.com/whittle-dev/whittle/shared/disruption/reboot"
	"github.com/whittle-dev/whittle/shared/disruption/repair"
	"github.com/whittle-dev/whittle/shared/membership"
)

// Instance is an EC2 instance.
type Instance struct {
	ID         string
	Zone       string
	State      string // of EC2: pending, running, stopping, stopped, shutting-down, terminated
	LaunchTime time.Time
	// Partition is the number of the partition in the placement group, from 1; zero for none.
	Partition int
	// HostName is the private DNS name, which EKS makes the name of the instance's Node; empty where EC2
	// has not told it.
	HostName string
	Tags     map[string]string
	// The following fields show drift.
	SubnetID         string
	SecurityGroupIDs []string
	ReservationID    string
	// StateReason is EC2's code and message of the last change of the state, if it tells them.
	StateReason string
}

// States of EC2 by which decisions differ.
const (
	stateStopped      = "stopped"
	stateShuttingDown = "shutting-down"
	stateTerminated   = "terminated"
)

// isEnding reports whether the instance has ended, or is ending, for good. While it shuts down, pods
// may still run on it for minutes.
func (i *Instance) isEnding() bool { return i.State == stateShuttingDown || i.State == stateTerminated }

// IsHalted reports whether nothing runs on the instance at present.
func (i *Instance) IsHalted() bool { return i.State == stateStopped || i.State == stateTerminated }

// View is a claim and what belongs to it, at one moment.
type View struct {
	Claim *api.NodeClaim
	// Cluster is the EKS cluster's name.
	Cluster string
	// Tick is set in the pass of a tick, which also writes the statuses of the pools. Only such a
	// pass gives up claims, so that their pools can count them.
	Tick bool
	// Report asks for events about lasting hindrances. Written in every pass they would bury others.
	Report bool
	// Watched is set where a watch tells of changes of nodes. It may have died, so that nothing waits for it alone.
	Watched bool
	Nodes   []*corev1.Node // the claim's own: one, or none
	// HostName is the private DNS name of the claim's instance; empty where EC2 has not told it.
	HostName string
	// Others are nodes with the claim's provider id that are not its own.
	Others []*corev1.Node
	// Instances is the one with the claim's provider id. For a claim without a provider id they are
	// those with its name in a tag, and its Leftovers; terminated ones are missing.
	Instances []Instance
	// InstancesListed is set when EC2 has listed the instances with the cluster's tags. The list
	// proves nothing of an instance that it leaves out, whose tags somebody may have removed.
	InstancesListed bool
	// Absent is set when EC2 was asked for the claim's instance by its id, and does not know it.
	Absent bool
	// Unhealthy is the condition for which the node is replaced; nil for none.
	Unhealthy *repair.UnhealthyCondition
	// StatusRead is set when EC2 was asked for announced work. Departures are then the times at which
	// that work takes the instance.
	StatusRead bool
	Departures []disruption.Departure
	// Origin is what the claim would be made from now. It is nil where that was not read, or the
	// claim has no pool.
	Origin *drift.Origin
	// ExpiryWaits keeps an expired claim: its pool has it replaced first, within budgets, or the pool
	// was not read.
	ExpiryWaits bool
	// Frozen says which freeze holds the claim's end or its drain; empty for none.
	Frozen string
	// ShiftedUntil is the end of a zonal shift away from the node's zone, zero without one. Whittle ends
	// no node there until then.
	ShiftedUntil time.Time
	// Expected are the pods that the claim was planned for and that have no node and no nomination.
	// They are read where AwaitsPods.
	Expected []*corev1.Pod
	// Binds is set where Whittle binds them.
	Binds bool
	// Place is what is on the node, read where WantsPlace. Without it nothing is bound.
	Place *binding.Place
	// The following fields are read for a claim with a node, if WantsPods.
	Pods        []*corev1.Pod // on the node, read after the node
	PodsRead    time.Time     // when Pods were those: other pods may have come since
	Attachments []storagev1.VolumeAttachment
	// HeldVolumes are the names of the persistent volumes of pods that do not leave the node. The
	// drain does not wait for their detachment.
	HeldVolumes map[string]bool
}

// Instance is the one with the claim's provider id, if EC2 told of it.
func (v *View) Instance() *Instance {
	id, _ := api.InstanceID(v.Claim.Status.ProviderID)
	for i := range v.Instances {
		if v.Instances[i].ID == id {
			return &v.Instances[i]
		}
	}
	return nil
}

// hostName is the name of the claim's own node: the one that was registered, or EC2's word; empty where
// neither is known.
func (v *View) hostName() string { return cmp.Or(v.Claim.Status.NodeName, v.HostName) }

// proves reports whether the node's name shows that its kubelet runs on the claim's instance. A kubelet
// writes its providerID itself, but EKS lets it in under the host name of its instance only.
func (v *View) proves(node *corev1.Node) bool {
	return membership.Named(v.Claim, v.HostName, node.Name)
}

// WantsPods reports whether the pods and volumes on the claim's node decide anything. They do before a
// reboot, and once the claim is deleted. They do not while the instance was drained and terminated and
// has not ended.
func (v *View) WantsPods() bool {
	if v.Claim.DeletionTimestamp == nil {
		return reboot.Drains(v.Claim)
	}
	if !api.ConditionTrue(v.Claim.Status.Conditions, api.ConditionTypeInstanceTerminating) {
		return true
	}
	instance := v.Instance()
	return v.Absent || instance != nil && instance.IsHalted()
}

// Urgency orders views by how little time there is, the lowest first. A drain that has not begun
// comes first, because EC2 may take its node within two minutes. Nodes that are starting, rebooting
// or drained come second: each needs a moment. Drains that go on may wait for pods without end, and
// come third.
func (v *View) Urgency() int {
	conditions := v.Claim.Status.Conditions
	deleted := v.Claim.DeletionTimestamp != nil
	switch {
	case deleted && api.GetCondition(conditions, api.ConditionTypeDrained) == nil:
		return 0
	case deleted && !api.ConditionTrue(conditions, api.ConditionTypeDrained):
		return drainGoesOn
	case deleted, !api.ConditionTrue(conditions, api.ConditionTypeInitialized), reboot.InProgress(v.Claim):
		return 1
	}
	return 3
}

// drainGoesOn is the urgency of a drain that has begun.
const drainGoesOn = 2

// GoesOn reports whether the claim's node has been draining since an earlier pass.
func (v *View) GoesOn() bool { return v.Urgency() == drainGoesOn }

// Compare orders views by Urgency, and drains that have not begun by when they were ordered. In a
// storm a pass comes to a part of them only.
func (v View) Compare(other View) int {
	order := v.Urgency() - other.Urgency()
	if order == 0 && v.Urgency() == 0 {
		order = v.Claim.DeletionTimestamp.Compare(other.Claim.DeletionTimestamp.Time)
	}
	return order
}

// Outcome is the decision on a claim.
type Outcome struct {
	Steps []Step
	// Again is the time until the next look; zero where the next tick is soon enough.
	Again time.Duration
	// WantsCapacity is set when provision has to look at once: pods begin to lose their places, or
	// the claim has waited too long for its instance.
	WantsCapacity bool
}

// Times until the next look.
const (
	drainPause = 2 * time.Second // at a drain, or an instance that is ending
	joinPause  = 3 * time.Second // at a node that will join

	// eventPause is longer, because an event comes first: the watch's of a node that joins, or EventBridge's of an
	// instance that has ended. Each look costs a call of EC2.
	eventPause = 10 * time.Second
)

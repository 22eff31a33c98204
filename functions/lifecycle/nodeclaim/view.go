package nodeclaim

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/disruption"
)

// Instance is an EC2 instance.
type Instance struct {
	ID         string
	Zone       string
	State      string // EC2's name: pending, running, stopping, stopped, shutting-down, terminated
	LaunchTime time.Time
	// Partition is the instance's in its placement group, counted from 1; zero for none.
	Partition int
	Tags      map[string]string
	// What drift is found by.
	SubnetID         string
	SecurityGroupIDs []string
	ReservationID    string
}

// Ended tells that the instance runs no more and will not come back.
func (i *Instance) Ended() bool { return i.State == "shutting-down" || i.State == "terminated" }

// halted tells that nothing runs on the instance any more.
func (i *Instance) halted() bool { return i.State == "stopped" || i.State == "terminated" }

// View is a claim and what belongs to it, at one moment.
type View struct {
	Claim *api.NodeClaim
	// Cluster is the EKS cluster's name.
	Cluster string
	// Tick tells that the pools' statuses are written in this pass too: only then is a
	// claim given up, so that its pool can count it.
	Tick bool
	// Tell asks for events about hindrances that last. Told at every look they would
	// bury the others.
	Tell  bool
	Nodes []*corev1.Node // those with the claim's provider id: one, or none
	// InstancesListed tells that EC2 was asked. Instances are then those with the
	// claim's provider id or its name in a tag; ones that have ended may be missing.
	InstancesListed bool
	Instances       []Instance
	// Sickness is what the node is to be replaced for; nil for none.
	Sickness *disruption.Sickness
	// StatusRead tells that EC2 was asked for the work that it has announced. Departures
	// are then when that takes the instance.
	StatusRead bool
	Departures []disruption.Departure
	// Origin is what the claim would be made from now; nil where that was not read, or the
	// claim is of no pool.
	Origin *disruption.Origin
	// ExpiryWaits tells that the claim does not end here when its time is over: its pool
	// lets it be replaced first, within budgets, or has not been read.
	ExpiryWaits bool
	// What follows is read for a claim that is being deleted and has a node, if WantsPods.
	Pods        []*corev1.Pod // on the node, read after the node
	Attachments []storagev1.VolumeAttachment
	// HeldVolumes are the persistent volumes, by name, of pods that do not leave the
	// node: their detachment is not waited for.
	HeldVolumes map[string]bool
}

// instance is the one with the claim's provider id, if EC2 lists it.
func (v *View) instance() *Instance {
	id, _ := api.InstanceID(v.Claim.Status.ProviderID)
	for i := range v.Instances {
		if v.Instances[i].ID == id {
			return &v.Instances[i]
		}
	}
	return nil
}

// WantsPods tells whether what is on the node of a claim that is being deleted still decides
// anything: not while an instance that was drained and told to end has not ended.
func (v *View) WantsPods() bool {
	if !api.ConditionTrue(v.Claim.Status.Conditions, api.ConditionTypeInstanceTerminating) {
		return true
	}
	instance := v.instance()
	return v.InstancesListed && (instance == nil || instance.halted())
}

// Urgency orders views by how little time there is, the lowest first: pods that have not been
// told to leave a node, which EC2 may take within two minutes; drains that go on, beside the nodes
// that pods wait for; the rest.
func (v *View) Urgency() int {
	conditions := v.Claim.Status.Conditions
	switch ending := v.Claim.DeletionTimestamp != nil; {
	case ending && api.GetCondition(conditions, api.ConditionTypeDrained) == nil:
		return 0
	case ending && !api.ConditionTrue(conditions, api.ConditionTypeDrained), !ending && !api.ConditionTrue(conditions, api.ConditionTypeInitialized):
		return 1
	}
	return 2
}

// Compare orders views by Urgency, and drains that are to begin by when they were ordered: in a storm a pass
// comes to some of them only.
func (v View) Compare(other View) int {
	order := v.Urgency() - other.Urgency()
	if order == 0 && v.Urgency() == 0 {
		order = v.Claim.DeletionTimestamp.Compare(other.Claim.DeletionTimestamp.Time)
	}
	return order
}

// Outcome is what a look at a claim comes to.
type Outcome struct {
	Steps []Step
	// Again is how soon to look again; zero where only time and people bring the
	// claim forward, and the next tick is soon enough.
	Again time.Duration
	// Displaces tells that pods begin to lose their place: capacity for them is
	// wanted now.
	Displaces bool
}

// How soon to look again.
const (
	soon      = 2 * time.Second // at a drain, or an instance that is ending
	joinPause = 3 * time.Second // at a node that will join
)

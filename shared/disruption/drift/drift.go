// Package drift tells whether a NodeClaim still is what its NodePool and EC2NodeClass would make
// now. It is a leaf of package disruption. Provision stamps new claims with hashes, and lifecycle
// sets the condition Drifted. Disruption then replaces the node within budgets.
package drift

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// typeNotFoundAge is the least age of a claim whose instance type is checked against the catalogue:
// Karpenter's hour. The catalogue may not have a new type yet.
const typeNotFoundAge = time.Hour

// Machine is a claim's instance as EC2 describes it.
type Machine struct {
	SubnetID         string
	SecurityGroupIDs []string
	ReservationID    string // the capacity reservation that it runs in, or empty
}

// finding is a way in which a claim has drifted. The zero value is none.
type finding struct{ reason, message string }

// SetDrifted updates the claim's condition Drifted, and tells whether that changed it. The machine
// is nil if EC2 does not list the instance or was not asked. If a reason cannot be checked now, a
// condition with this reason stays as it is, and so does any for a pool with fields that cannot be
// read. A claim that is not launched has not drifted.
//
// It checks the reasons in Karpenter's order.
// https://karpenter.sh/docs/concepts/disruption/#drift
func (o *Origin) SetDrifted(
	claim *api.NodeClaim,
	conditions *[]metav1.Condition,
	machine *Machine,
	now time.Time,
) bool {
	if !api.ConditionTrue(*conditions, api.ConditionTypeLaunched) {
		return api.RemoveCondition(conditions, api.ConditionTypeDrifted)
	}
	if len(o.Pool.Unreadable) > 0 {
		return false
	}
	found, unknown := o.drift(claim, machine, now)
	if found.reason != "" {
		return api.SetCondition(conditions, metav1.Condition{
			Type: api.ConditionTypeDrifted, Status: metav1.ConditionTrue, Reason: found.reason, Message: found.message,
			ObservedGeneration: claim.Generation,
		}, now)
	}
	if is := api.GetCondition(*conditions, api.ConditionTypeDrifted); is != nil && slices.Contains(unknown, is.Reason) {
		return false
	}
	return api.RemoveCondition(conditions, api.ConditionTypeDrifted)
}

// Sign names the condition Drifted of a claim, without the claim: the reason, and a hash of the message.
// Claims of one pool with the same sign have drifted alike. It is empty for a claim that has not drifted, and
// for one whose pool or class has changed: its replacement has the new hash, and cannot drift alike.
func Sign(claim *api.NodeClaim) string {
	is := api.GetCondition(claim.Status.Conditions, api.ConditionTypeDrifted)
	if is == nil || is.Status != metav1.ConditionTrue ||
		is.Reason == api.ReasonNodePoolDrifted || is.Reason == api.ReasonNodeClassDrift {
		return ""
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(is.Message)) // it never fails
	return fmt.Sprintf("%s/%08x", is.Reason, sum.Sum32())
}

// drift looks for the first way in which the claim has drifted. Unknown are the reasons that cannot
// be checked.
func (o *Origin) drift(claim *api.NodeClaim, machine *Machine, now time.Time) (found finding, unknown []string) {
	for _, check := range []struct {
		reason string
		check  func() (message string, known bool)
	}{
		{api.ReasonNodePoolDrifted, func() (string, bool) { return o.poolChanged(claim), true }},
		{api.ReasonRequirementsDrifted, func() (string, bool) { return o.requirementsUnmet(claim) }},
		{api.ReasonInstanceTypeNotFound, func() (string, bool) { return o.typeGone(claim, now) }},
		{api.ReasonNodeClassDrift, func() (string, bool) { return o.classChanged(claim) }},
		{api.ReasonAMIDrift, func() (string, bool) { return o.imageChanged(claim) }},
		{api.ReasonSecurityGroupDrift, func() (string, bool) { return o.groupsChanged(machine) }},
		{api.ReasonSubnetDrift, func() (string, bool) { return o.subnetGone(machine) }},
		{api.ReasonCapacityReservationDrift, func() (string, bool) { return o.reservationGone(machine) }},
		{api.ReasonPlacementGroupDrift, func() (string, bool) { return o.placementChanged(claim) }},
	} {
		message, known := check.check()
		if message != "" {
			return finding{check.reason, message}, nil
		}
		if !known {
			unknown = append(unknown, check.reason)
		}
	}
	return finding{}, unknown
}

// Hashes returns the annotations that bring the claim's hashes to their current versions. It
// returns none if the claim has these versions.
func (o *Origin) Hashes(claim *api.NodeClaim) map[string]string {
	wanted := map[string]string{}
	if len(o.Pool.Unreadable) > 0 {
		return wanted
	}
	poolHashKeys().migrate(claim, o.PoolHash, api.NodePoolHashVersion, wanted)
	// The class hash is written when the claim is launched.
	if o.Class != nil && api.ConditionTrue(claim.Status.Conditions, api.ConditionTypeLaunched) {
		classHashKeys().migrate(claim, o.ClassHash, api.EC2NodeClassHashVersion, wanted)
	}
	return wanted
}

func (o *Origin) poolChanged(claim *api.NodeClaim) string {
	if poolHashKeys().differs(claim, o.PoolHash, api.NodePoolHashVersion) {
		return fmt.Sprintf("spec.template of nodepool %q has changed since", o.Pool.Name)
	}
	return ""
}

func (o *Origin) classChanged(claim *api.NodeClaim) (string, bool) {
	if o.Class == nil {
		return "", false
	}
	if classHashKeys().differs(claim, o.ClassHash, api.EC2NodeClassHashVersion) {
		return fmt.Sprintf("the spec of ec2nodeclass %q, or the cluster's certificate authority, has changed since",
			o.Class.Name), true
	}
	return "", true
}

func (o *Origin) requirementsUnmet(claim *api.NodeClaim) (string, bool) {
	wanted, err := scheduling.FromTerms(o.Pool.Spec.Template.Spec.Requirements)
	if err != nil {
		return "", false // The pool's condition says so.
	}
	labels := scheduling.FromLabels(claim.Labels)
	if unmet := labels.Compatible(wanted, scheduling.UndefinedIsAbsent); unmet != nil {
		return fmt.Sprintf("the requirements of nodepool %q are not met: %v", o.Pool.Name, unmet), true
	}
	return "", true
}

// typeGone tells whether EC2 no longer offers the claim's instance type in its zone and capacity
// type. An offering without capacity is not gone.
func (o *Origin) typeGone(claim *api.NodeClaim, now time.Time) (string, bool) {
	if now.Sub(claim.CreationTimestamp.Time) < typeNotFoundAge {
		return "", true
	}
	if o.Catalog == nil || len(o.Catalog.InstanceTypes) == 0 {
		return "", false
	}
	name, zone := claim.Labels[corev1.LabelInstanceTypeStable], claim.Labels[corev1.LabelTopologyZone]
	capacityType := claim.Labels[api.CapacityTypeLabelKey]
	at, known := slices.BinarySearchFunc(o.Catalog.InstanceTypes, name,
		func(info catalog.InstanceTypeInfo, name string) int { return strings.Compare(info.InstanceType, name) })
	if !known {
		return fmt.Sprintf("EC2 offers no instance type %q here any more", name), true
	}
	// A reserved node continues as an on-demand one when its reservation ends.
	if capacityType == api.CapacityTypeReserved {
		capacityType = api.CapacityTypeOnDemand
	}
	info := &o.Catalog.InstanceTypes[at]
	if !slices.Contains(info.Zones, zone) || !slices.Contains(info.SupportedUsageClasses, capacityType) {
		return fmt.Sprintf("EC2 offers instance type %q in zone %q as %s no more", name, zone, capacityType), true
	}
	return "", true
}

func (o *Origin) imageChanged(claim *api.NodeClaim) (string, bool) {
	if o.Class == nil || len(o.Class.Status.AMIs) == 0 || claim.Status.ImageID == "" ||
		claim.Labels[corev1.LabelArchStable] == "" {
		return "", false
	}
	wanted, any := catalog.ImageOf(o.Class, claim.Labels)
	switch {
	case !any:
		return fmt.Sprintf("no image of ec2nodeclass %q is for this node any more", o.Class.Name), true
	case wanted != claim.Status.ImageID:
		return fmt.Sprintf("the node runs image %s, and ec2nodeclass %q selects %s for it",
			claim.Status.ImageID, o.Class.Name, wanted), true
	}
	return "", true
}

// groupsChanged compares the security groups. Those that the class does not select may be somebody else's,
// such as AWS Firewall Manager's, which adds them to each new instance. They count only where an annotation
// of the class asks for that.
func (o *Origin) groupsChanged(machine *Machine) (string, bool) {
	if o.Class == nil || machine == nil || len(o.Class.Status.SecurityGroups) == 0 || len(machine.SecurityGroupIDs) == 0 {
		return "", false
	}
	var wanted []string
	for _, group := range o.Class.Status.SecurityGroups {
		wanted = append(wanted, group.ID)
	}
	have := slices.Clone(machine.SecurityGroupIDs)
	slices.Sort(wanted)
	slices.Sort(have)
	have, wanted = slices.Compact(have), slices.Compact(wanted)
	lacks := func(id string) bool { return !slices.Contains(have, id) }
	exact := o.Class.Annotations[api.SecurityGroupPolicyAnnotationKey] == api.SecurityGroupsEqual
	if slices.ContainsFunc(wanted, lacks) || exact && len(have) > len(wanted) {
		return fmt.Sprintf("the instance has the security groups %s, and ec2nodeclass %q selects %s",
			strings.Join(have, ", "), o.Class.Name, strings.Join(wanted, ", ")), true
	}
	return "", true
}

func (o *Origin) subnetGone(machine *Machine) (string, bool) {
	if o.Class == nil || machine == nil || len(o.Class.Status.Subnets) == 0 || machine.SubnetID == "" {
		return "", false
	}
	isIts := func(subnet api.Subnet) bool { return subnet.ID == machine.SubnetID }
	if !slices.ContainsFunc(o.Class.Status.Subnets, isIts) {
		return fmt.Sprintf("the instance is in subnet %s, which ec2nodeclass %q does not select",
			machine.SubnetID, o.Class.Name), true
	}
	return "", true
}

func (o *Origin) reservationGone(machine *Machine) (string, bool) {
	if o.Class == nil || machine == nil || !o.reservationsRead() {
		return "", false
	}
	id := machine.ReservationID
	isIts := func(r api.CapacityReservation) bool { return r.ID == id }
	if id != "" && !slices.ContainsFunc(o.Class.Status.CapacityReservations, isIts) {
		return fmt.Sprintf("the instance runs in capacity reservation %s, which ec2nodeclass %q does not select",
			id, o.Class.Name), true
	}
	return "", true
}

// reservationsRead reports whether the class's list of reservations is what EC2 has: no reading of them
// has failed since.
func (o *Origin) reservationsRead() bool {
	ready := api.GetCondition(o.Class.Status.Conditions, api.ConditionTypeCapacityReservationsReady)
	return ready == nil || ready.Status == metav1.ConditionTrue
}

func (o *Origin) placementChanged(claim *api.NodeClaim) (string, bool) {
	if o.Class == nil || o.Class.Spec.PlacementGroupSelector != nil && o.Class.Status.PlacementGroup == nil {
		return "", false
	}
	wanted := ""
	if o.Class.Spec.PlacementGroupSelector != nil {
		wanted = o.Class.Status.PlacementGroup.ID
	}
	if have := claim.Labels[api.LabelPlacementGroupID]; have != wanted {
		return fmt.Sprintf("the node is in placement group %q, and ec2nodeclass %q selects %q",
			have, o.Class.Name, wanted), true
	}
	return "", true
}

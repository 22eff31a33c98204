package nodeclass

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/kubelet"
)

// Facts are EC2's answers about the resources that a class selects, and the facts that a node needs
// to join the cluster.
type Facts struct {
	Subnets              []Subnet
	SecurityGroups       []api.SecurityGroup
	Images               []Image
	InstanceProfile      string
	CapacityReservations []CapacityReservation
	PlacementGroup       *api.PlacementGroup

	SubnetsProblem, SecurityGroupsProblem, ImagesProblem, InstanceProfileProblem, CapacityReservationsProblem,
	PlacementGroupProblem Problem

	// Expressions is what is known of the class's kubelet expressions.
	Expressions Expressions
	// Cluster is needed to check before any launch whether user data can be written.
	Cluster Cluster
	// Authorization is the result of the dry runs of a launch.
	Authorization Authorization
}

// Expressions is what is known of the expressions in a class's kubelet settings.
type Expressions struct {
	// Enabled allows expressions. Karpenter calls it the gate NodeClassCEL.
	Enabled bool
	// Evaluation is nil before the expressions are evaluated.
	Evaluation *kubelet.Evaluation
}

// Problem explains to the class's owner why a resource could not be read. The zero value is no
// problem.
type Problem struct {
	Reason  string // reason of the condition; empty for the usual one
	Message string
}

// Subnet is a subnet that a term selects.
type Subnet struct {
	ID, Zone, ZoneID string
	FreeAddresses    int
	// PublicIPv4 is set where the subnet gives its instances a public IPv4 address.
	PublicIPv4 bool
	// OutpostARN is set for a subnet of an Outpost. Its zone has other types and prices than the rack.
	OutpostARN string
}

// verified returns the facts without those whose reading has a problem. Later passes trust the
// status, so that it must not hold what nobody verified. Reservations stay as they were: a node in one
// that the class no longer selects is replaced, and the class is not ready, so that nothing is launched.
func (f Facts) verified() Facts {
	if f.SubnetsProblem.Message != "" {
		f.Subnets = nil
	}
	if f.SecurityGroupsProblem.Message != "" {
		f.SecurityGroups = nil
	}
	if f.ImagesProblem.Message != "" {
		f.Images = nil
	}
	if f.InstanceProfileProblem.Message != "" {
		f.InstanceProfile = ""
	}
	if f.PlacementGroupProblem.Message != "" {
		f.PlacementGroup = nil
	}
	return f
}

// Resolve returns the class's status for EC2's facts. It changes neither argument. Messages begin with
// Karpenter's words, because people's alerts match on them.
func Resolve(class *api.EC2NodeClass, facts Facts, now time.Time) api.EC2NodeClassStatus {
	facts = facts.verified()
	leftOut := onOutposts(facts.Subnets)
	status := api.EC2NodeClassStatus{
		Subnets:              subnets(facts.Subnets),
		SecurityGroups:       securityGroups(facts.SecurityGroups),
		AMIs:                 images(facts.Images),
		InstanceProfile:      facts.InstanceProfile,
		CapacityReservations: capacityReservations(facts.CapacityReservations, now),
		PlacementGroup:       facts.PlacementGroup,
		Conditions:           slices.Clone(class.Status.Conditions),
	}
	if facts.CapacityReservationsProblem.Message != "" {
		status.CapacityReservations = class.Status.CapacityReservations
	}
	c := conditions{status: &status, generation: class.Generation, now: now}
	c.found(api.ConditionTypeSubnetsReady, api.ReasonSubnetsNotFound, facts.SubnetsProblem, len(status.Subnets) > 0,
		"SubnetSelector did not match any Subnets: compare the tags and ids of spec.subnetSelectorTerms with the "+
			"VPC's subnets"+leftOut)
	if leftOut != "" && len(status.Subnets) > 0 {
		c.set(api.ConditionTypeSubnetsReady, metav1.ConditionTrue, "", strings.TrimPrefix(leftOut, ". "))
	}
	c.found(api.ConditionTypeSecurityGroupsReady, api.ReasonSecurityGroupsNotFound, facts.SecurityGroupsProblem, len(
		status.SecurityGroups,
	) > 0,
		"SecurityGroupSelector did not match any SecurityGroups: compare the tags, ids and names of "+
			"spec.securityGroupSelectorTerms with the VPC's groups")
	c.found(api.ConditionTypeAMIsReady, api.ReasonAMINotFound, facts.ImagesProblem, len(status.AMIs) > 0,
		"AMISelector did not match any AMIs: spec.amiSelectorTerms selects no available image for x86_64 or arm64")
	c.found(api.ConditionTypeInstanceProfileReady, api.ReasonInstanceProfileNotFound, facts.InstanceProfileProblem,
		status.InstanceProfile != "",
		"spec.role or spec.instanceProfile gives no instance profile")
	c.found(
		api.ConditionTypePlacementGroupReady,
		api.ReasonPlacementGroupNotFound,
		facts.PlacementGroupProblem,
		class.Spec.PlacementGroupSelector == nil || status.PlacementGroup != nil,
		"spec.placementGroupSelector selects no available placement group: "+
			"create it in this region, or name one that is there",
	)
	// A class may wait for reservations that are yet to come: none is no fault.
	c.found(
		api.ConditionTypeCapacityReservationsReady, api.ReasonCapacityReservationResolutionFailed,
		facts.CapacityReservationsProblem, true, "",
	)
	c.validation(class, facts)
	c.holdRefusals(class)
	api.SetReady(&status.Conditions, readyDependents(class), class.Generation, now)
	if class.DeletionTimestamp != nil {
		c.set(api.ConditionReady, metav1.ConditionFalse, api.ReasonNodeClassTerminating, "the class is being deleted")
	}
	return status
}

// readyDependents returns the conditions that the class's Ready depends on.
func readyDependents(class *api.EC2NodeClass) []string {
	dependsOn := api.EC2NodeClassReadyDependents()
	if len(class.Spec.CapacityReservationSelectorTerms) > 0 {
		dependsOn = append(dependsOn, api.ConditionTypeCapacityReservationsReady)
	}
	return dependsOn
}

// conditions writes the conditions of a status.
type conditions struct {
	status     *api.EC2NodeClassStatus
	generation int64
	now        time.Time
}

func (c conditions) set(conditionType string, value metav1.ConditionStatus, reason, message string) {
	api.SetCondition(&c.status.Conditions, metav1.Condition{
		Type: conditionType, Status: value, Reason: reason, Message: message, ObservedGeneration: c.generation,
	}, c.now)
}

// found sets a condition to True for a resource that was found. Otherwise the message is the
// reading's problem or, where nothing was found, the given text.
func (c conditions) found(conditionType, reason string, reading Problem, found bool, nothing string) {
	switch {
	case reading.Message != "":
		c.set(conditionType, metav1.ConditionFalse, cmp.Or(reading.Reason, reason), reading.Message)
	case !found:
		c.set(conditionType, metav1.ConditionFalse, reason, nothing)
	default:
		c.set(conditionType, metav1.ConditionTrue, "", "")
	}
}

// Stale reports whether the class must be resolved again: its spec changed, it is not ready, or it
// is ready although it is being deleted. Lifecycle refreshes a ready class each minute.
func Stale(class *api.EC2NodeClass) bool {
	ready := api.GetCondition(class.Status.Conditions, api.ConditionReady)
	if class.DeletionTimestamp != nil {
		return ready == nil || ready.Status == metav1.ConditionTrue
	}
	return ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != class.Generation
}

// onOutposts names the subnets of Outposts, which are left out, or returns an empty text.
func onOutposts(found []Subnet) string {
	var ids []string
	for _, subnet := range found {
		if subnet.OutpostARN != "" {
			ids = append(ids, subnet.ID)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	slices.Sort(ids)
	return ". Outposts are not supported, so these subnets are left out: " + strings.Join(slices.Compact(ids), ", ")
}

// subnets returns the subnets of the region's zones in the order of their free addresses, the most first.
func subnets(found []Subnet) []api.Subnet {
	found = slices.DeleteFunc(slices.Clone(found), func(subnet Subnet) bool { return subnet.OutpostARN != "" })
	sorted := slices.SortedFunc(slices.Values(found), func(a, b Subnet) int {
		return cmp.Or(cmp.Compare(b.FreeAddresses, a.FreeAddresses), cmp.Compare(a.ID, b.ID))
	})
	var list []api.Subnet
	for _, subnet := range slices.CompactFunc(sorted, func(a, b Subnet) bool { return a.ID == b.ID }) {
		list = append(list, api.Subnet{
			ID: subnet.ID, Zone: subnet.Zone, ZoneID: subnet.ZoneID, PublicIPv4: subnet.PublicIPv4,
		})
	}
	return list
}

func securityGroups(found []api.SecurityGroup) []api.SecurityGroup {
	sorted := slices.SortedFunc(slices.Values(found), func(a, b api.SecurityGroup) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(sorted, func(a, b api.SecurityGroup) bool { return a.ID == b.ID })
}

package attempt

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// Assignment is an instance for a claim, with the patches that write it down. Metadata comes
// first, because the status says that the launch is done: see Status. After a crash between them
// the next pass finds the claim without a providerID, gets the same instance, and writes both again.
type Assignment struct {
	Claim    *api.NodeClaim
	Instance *Instance
	// Metadata applies to the claim as it was read only. A request that arrives late must not give
	// the claim the labels of an instance that it has no more.
	Metadata map[string]any
	status   map[string]any
	// Price is dollars an hour without extras, and Savings is against on-demand capacity, for the
	// log.
	Price   float64
	Savings catalog.Savings
}

func assignment(claim *api.NodeClaim, instance *Instance, in Launched, hash string) Assignment {
	made := Assignment{Claim: claim, Instance: instance}
	labels := map[string]string{}
	status := map[string]any{"providerID": instance.ProviderID(), "imageID": instance.ImageID}
	if instanceType := typeOf(in.Types, instance); instanceType != nil {
		maps.Copy(labels, instanceType.Requirements.Labels())
		if offering := offeringOf(instanceType, instance); offering != nil {
			made.Price, made.Savings = offering.InstancePrice(), instanceType.Savings(*offering)
			maps.Copy(labels, offeringLabels(offering))
		}
		status["capacity"], status["allocatable"] = instanceType.Capacity, instanceType.Allocatable
	}
	labels[corev1.LabelInstanceTypeStable] = instance.Type
	labels[corev1.LabelTopologyZone] = instance.Zone
	labels[api.CapacityTypeLabelKey] = instance.CapacityType
	labels[api.LabelInstanceID] = instance.ID
	made.status = status
	made.Metadata = map[string]any{"metadata": map[string]any{
		"resourceVersion": claim.ResourceVersion,
		"labels":          labels,
		"annotations": map[string]any{
			// The instance profile is kept for as long as a claim names it.
			api.AnnotationInstanceProfile: in.Class.Status.InstanceProfile,
			// The instance was made from the class as it is now.
			api.AnnotationEC2NodeClassHash: hash, api.AnnotationEC2NodeClassHashVersion: api.EC2NodeClassHashVersion,
			api.UnseenSinceAnnotationKey: nil,
		},
		// The history of fields would be nearly half of a claim, and every pass reads all claims.
		// An empty entry makes the API server drop it, until somebody applies the claim.
		"managedFields": []map[string]any{{}},
	}}
	return made
}

// Status is the patch of the status that follows Metadata, which stored the claim as it is given. A
// request that arrives late must not take back the conditions that others have written since.
func (a *Assignment) Status(stored *api.NodeClaim, now time.Time) map[string]any {
	status := maps.Clone(a.status)
	status["conditions"] = launchedConditions(stored, now)
	return map[string]any{
		"metadata": map[string]any{"resourceVersion": stored.ResourceVersion},
		"status":   status,
	}
}

func launchedConditions(claim *api.NodeClaim, now time.Time) []metav1.Condition {
	conditions := slices.Clone(claim.Status.Conditions)
	launched := metav1.Condition{
		Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue, ObservedGeneration: claim.Generation,
	}
	api.SetCondition(&conditions, launched, now)
	if api.GetCondition(conditions, api.ConditionTypeRegistered) == nil {
		api.SetNodeNotFound(&conditions, claim.Generation, now)
	}
	api.SetReady(&conditions, api.NodeClaimReadyDependents(), claim.Generation, now)
	return conditions
}

func typeOf(types []catalog.InstanceType, instance *Instance) *catalog.InstanceType {
	for i := range types {
		if types[i].Name == instance.Type {
			return &types[i]
		}
	}
	return nil
}

// offeringOf is the offering that the instance was launched from, or nil if the type has no such
// offering.
func offeringOf(instanceType *catalog.InstanceType, instance *Instance) *catalog.Offering {
	for i := range instanceType.Offerings {
		offering := &instanceType.Offerings[i]
		if offering.Zone == instance.Zone && offering.CapacityType == instance.CapacityType &&
			offering.ReservationID == instance.ReservationID {
			return offering
		}
	}
	return nil
}

// offeringLabels are the labels that the offering gives its nodes, beside those of their type, zone
// and capacity type.
func offeringLabels(offering *catalog.Offering) map[string]string {
	labels := maps.Clone(offering.Requirements.Labels())
	if labels == nil {
		labels = map[string]string{}
	}
	if offering.ZoneID != "" {
		labels[api.LabelTopologyZoneID] = offering.ZoneID
	}
	if offering.ReservationID != "" {
		labels[api.LabelCapacityReservationID] = offering.ReservationID
	}
	return labels
}

package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// launched writes the instance on its claim: labels first, then the status that
// says the launch is done. Killed in between, the next pass finds the claim
// without a providerID, asks EC2 with the same token, and writes both again.
func (r *run) launched(ctx context.Context, claim *api.NodeClaim, instance *fleet.Instance, class *api.EC2NodeClass, types []catalog.InstanceType) (*api.NodeClaim, error) {
	labels := map[string]string{
		corev1.LabelInstanceTypeStable: instance.InstanceType,
		corev1.LabelTopologyZone:       instance.Zone,
		api.CapacityTypeLabelKey:       instance.CapacityType,
		api.LabelInstanceID:            instance.ID,
	}
	status := map[string]any{"providerID": instance.ProviderID(), "imageID": instance.ImageID}
	// The profile stays for as long as a claim names it.
	annotations := map[string]any{api.AnnotationInstanceProfile: class.Status.InstanceProfile}
	// What the class is now is what the instance was made from.
	hash, err := nodeclass.Hash(class, r.client.CertificateAuthority())
	if err != nil {
		return nil, err
	}
	annotations[api.AnnotationEC2NodeClassHash], annotations[api.AnnotationEC2NodeClassHashVersion] = hash, api.EC2NodeClassHashVersion
	metadata := map[string]any{"annotations": annotations}
	price, savings := 0.0, catalog.Savings{}
	for i := range types {
		if types[i].Name != instance.InstanceType {
			continue
		}
		known := types[i].Requirements.Labels()
		if offering := offeringOf(&types[i], instance); offering != nil {
			price, savings = offering.Price, types[i].Savings(*offering)
			maps.Copy(known, offeringLabels(offering))
		}
		maps.Copy(known, labels)
		labels = known
		status["capacity"], status["allocatable"] = types[i].Capacity, types[i].Allocatable
	}
	metadata["labels"] = labels
	// Nearly half of a claim would be its history of fields, by kinds of writers that are all Whittle's:
	// every look reads all claims. An empty entry has the API server forget it, and keep none
	// until somebody applies the claim.
	metadata["managedFields"] = []map[string]any{{}}
	if _, err := r.client.PatchNodeClaim(ctx, claim.Name, map[string]any{"metadata": metadata}); err != nil {
		return nil, fmt.Errorf("writing instance %s on nodeclaim %q: %w", instance.ID, claim.Name, err)
	}
	conditions := slices.Clone(claim.Status.Conditions)
	api.SetCondition(&conditions, metav1.Condition{Type: api.ConditionTypeLaunched, Status: metav1.ConditionTrue, ObservedGeneration: claim.Generation}, r.now())
	if api.GetCondition(conditions, api.ConditionTypeRegistered) == nil {
		api.AwaitNode(&conditions, claim.Generation, r.now())
	}
	api.SetReady(&conditions, api.NodeClaimReadyDependents(), claim.Generation, r.now())
	status["conditions"] = conditions
	stored, err := r.client.PatchNodeClaimStatus(ctx, claim.Name, map[string]any{"status": status})
	if err != nil {
		return nil, fmt.Errorf("writing instance %s on nodeclaim %q: %w", instance.ID, claim.Name, err)
	}
	slog.InfoContext(ctx, "launched nodeclaim", "NodeClaim", claim.Name, "provider-id", instance.ProviderID(),
		"instance-type", instance.InstanceType, "zone", instance.Zone, "capacity-type", instance.CapacityType,
		"price", price, "savings", savings.PerHour, "savings-fraction", savings.Fraction)
	return stored, nil
}

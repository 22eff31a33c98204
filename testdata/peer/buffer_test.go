package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpenter "sigs.k8s.io/karpenter/pkg/apis/autoscaling/v1beta1"

	"github.com/whittle-dev/whittle/shared/api"
)

// TestCapacityBuffersAreKarpenters holds that a buffer with every field of Karpenter's type comes
// through Whittle's type as it was.
func TestCapacityBuffersAreKarpenters(t *testing.T) {
	text, count, generation := karpenter.ActiveProvisioningStrategy, int32(3), int64(7)
	theirs := karpenter.CapacityBuffer{
		TypeMeta:   metav1.TypeMeta{APIVersion: karpenter.Group + "/v1beta1", Kind: "CapacityBuffer"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "spare", Generation: 2},
		Spec: karpenter.CapacityBufferSpec{
			ProvisioningStrategy: &text, PodTemplateRef: &karpenter.LocalObjectRef{Name: "web"},
			ScalableRef: &karpenter.ScalableRef{APIGroup: "apps", Kind: karpenter.KindDeployment, Name: "web"},
			Replicas:    &count, Percentage: &count,
		},
		Status: karpenter.CapacityBufferStatus{
			PodTemplateRef: &karpenter.LocalObjectRef{Name: "web"}, Replicas: &count, PodTemplateGeneration: &generation,
			ProvisioningStrategy: &text,
			Conditions: []metav1.Condition{{Type: karpenter.ProvisioningCondition, Status: metav1.ConditionTrue,
				Reason: "FitsExistingCapacity", ObservedGeneration: 2}},
		},
	}
	theirs.Spec.Limits = karpenter.Limits{"cpu": resource.MustParse("2500m")}
	for _, value := range []reflect.Value{reflect.ValueOf(theirs.Spec), reflect.ValueOf(theirs.Status)} {
		for i := range value.NumField() {
			if value.Field(i).IsZero() {
				t.Errorf("the field %s of Karpenter's type has no value here: give it one", value.Type().Field(i).Name)
			}
		}
	}
	written, err := json.Marshal(theirs)
	if err != nil {
		t.Fatal(err)
	}
	var ours api.CapacityBuffer
	decoder := json.NewDecoder(bytes.NewReader(written))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&ours); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(ours)
	if err != nil {
		t.Fatal(err)
	}
	var before, after any
	if err := json.Unmarshal(written, &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again, &after); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(before, after) {
		t.Errorf("it was\n%s\nand is\n%s", written, again)
	}
	for ours, theirs := range map[string]string{
		api.ActiveCapacityStrategy:        karpenter.ActiveProvisioningStrategy,
		api.ConditionReadyForProvisioning: karpenter.ReadyForProvisioningCondition,
		api.ConditionProvisioning:         karpenter.ProvisioningCondition,
		api.AutoscalingGroup:              karpenter.Group,
	} {
		if ours != theirs {
			t.Errorf("it is %q, and Karpenter's %q", ours, theirs)
		}
	}
}

package inventory_test

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/kubelet"
)

func TestValuesOfExpressionsAreStored(t *testing.T) {
	pods := int32(27)
	values := kubelet.Evaluations{
		"good": {Types: map[string]kubelet.Values{
			"m5.large": {MaxPods: &pods, KubeReserved: map[string]string{"cpu": "40m"}},
		}},
		"bad": {Reason: api.ReasonKubeletExpressionInvalid, Message: "vcpu"},
	}
	version := func() string {
		t.Helper()
		stored, err := as(t, "lifecycle").ConfigMap(t.Context(), "whittle-kubelet-values")
		if err != nil || stored == nil {
			t.Fatal(stored, err)
		}
		return stored.ResourceVersion
	}
	if known, err := inventory.KubeletValues(t.Context(), as(t, "provision")); err != nil || len(known) != 0 {
		t.Errorf("before the first: %v, %v", known, err)
	}
	if err := inventory.PutKubeletValues(t.Context(), as(t, "lifecycle"), values); err != nil {
		t.Fatal(err)
	}
	written := version()
	if err := inventory.PutKubeletValues(t.Context(), as(t, "lifecycle"), values); err != nil || version() != written {
		t.Errorf("the same values were written again, %v", err)
	}
	for _, function := range []string{"provision", "disrupt"} {
		if known, err := inventory.KubeletValues(t.Context(), as(t, function)); err != nil ||
			!reflect.DeepEqual(known, values) {
			t.Errorf("%s reads %v, %v", function, known, err)
		}
	}
	// Only a class with an expression costs the reading.
	class := api.EC2NodeClass{}
	if known, err := inventory.KubeletValuesOf(t.Context(), nil, []api.EC2NodeClass{class}); err != nil || known != nil {
		t.Errorf("%v, %v", known, err)
	}
	class.Spec.Kubelet = &api.KubeletConfiguration{KubeReserved: map[string]string{"cpu": "vcpus"}}
	if known, err := inventory.KubeletValuesOf(
		t.Context(), as(t, "disrupt"), []api.EC2NodeClass{class},
	); err != nil || len(known) != 2 {
		t.Errorf("%v, %v", known, err)
	}
	put(t, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "whittle-kubelet-values"}, Data: map[string]string{"values": "{"},
	})
	if known, err := inventory.KubeletValues(t.Context(), as(t, "provision")); err != nil || len(known) != 0 {
		t.Errorf("unreadable: %v, %v", known, err)
	}
	delete(values, "bad")
	if err := inventory.PutKubeletValues(t.Context(), as(t, "lifecycle"), values); err != nil {
		t.Fatal(err)
	}
	if known, err := inventory.KubeletValues(t.Context(), as(t, "provision")); err != nil || len(known) != 1 {
		t.Errorf("after a mend: %v, %v", known, err)
	}
}

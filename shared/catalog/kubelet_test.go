package catalog_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/kubelet"
	"github.com/whittle-dev/whittle/shared/kubelet/evaluation"
)

// withExpressions resolves a class of the family with the kubelet settings, by name.
func withExpressions(
	t *testing.T, family, settings string, change func(kubelet.Evaluations),
) map[string]catalog.InstanceType {
	t.Helper()
	known, class := catalogtest.Catalog(t), catalogtest.NodeClass("default")
	class.Spec.AMIFamily = &family
	if err := json.Unmarshal([]byte(settings), &class.Spec.Kubelet); err != nil {
		t.Fatal(err)
	}
	evaluated, err := evaluation.Of(class, known)
	if err != nil || evaluated.Message != "" {
		t.Fatal(err, evaluated.Message)
	}
	inputs, err := kubelet.Inputs(class)
	if err != nil {
		t.Fatal(err)
	}
	observed := catalog.Observed{Kubelet: kubelet.Evaluations{inputs: evaluated}}
	if change != nil {
		change(observed.Kubelet)
	}
	types := map[string]catalog.InstanceType{}
	for _, typ := range catalog.Resolve(known, class, observed, catalogtest.Now) {
		types[typ.Name] = typ
	}
	return types
}

// TestExpressionsHaveValuesForEachType checks that a class with expressions is planned, and its nodes
// configured, as one with their values.
func TestExpressionsHaveValuesForEachType(t *testing.T) {
	const expressions = `{"maxPods": "max_pods - 2", "kubeReserved": {"cpu": "vcpus * 50", "memory": "11 * max_pods"},
		"systemReserved": {"memory": "memory_mib / 64", "ephemeral-storage": "1 + 0"}}`
	for _, family := range []string{
		api.AMIFamilyAL2, api.AMIFamilyAL2023, api.AMIFamilyBottlerocket, api.AMIFamilyCustom, api.AMIFamilyWindows2022,
	} {
		types := withExpressions(t, family, expressions, nil)
		for name, values := range map[string]string{
			// 29 and 234 pods; 11x27 = 297, up to a multiple of 16, and 11x232 = 2552.
			"m5.large": `{"maxPods": 27, "kubeReserved": {"cpu": "100m", "memory": "304Mi"},
				"systemReserved": {"memory": "128Mi", "ephemeral-storage": "1Gi"}}`,
			"m5.4xlarge": `{"maxPods": 232, "kubeReserved": {"cpu": "800m", "memory": "2560Mi"},
				"systemReserved": {"memory": "1024Mi", "ephemeral-storage": "1Gi"}}`,
		} {
			if family == api.AMIFamilyWindows2022 {
				continue // its default is 110 pods
			}
			static := resolved(t, name, func(c *api.EC2NodeClass) {
				c.Spec.AMIFamily = &family
				if err := json.Unmarshal([]byte(values), &c.Spec.Kubelet); err != nil {
					t.Fatal(err)
				}
			})
			got := types[name]
			for _, resource := range []corev1.ResourceName{"cpu", "memory", "pods", "ephemeral-storage"} {
				have, want := got.Allocatable[resource], static.Allocatable[resource]
				if have.Cmp(want) != 0 {
					t.Errorf("%s of %s: allocatable %s is %s, want %s", family, name, resource, have.String(), want.String())
				}
			}
			if family == api.AMIFamilyCustom {
				if got.Kubelet != nil {
					t.Errorf("%s: settings %+v for user data that is the owner's", family, got.Kubelet)
				}
				continue
			}
			pods := static.Capacity[corev1.ResourcePods]
			if got.Kubelet == nil || got.Kubelet.MaxPods == nil || int64(*got.Kubelet.MaxPods) != pods.Value() ||
				got.Kubelet.SystemReserved["ephemeral-storage"] != "1Gi" || got.Kubelet.KubeReserved["cpu"] == "vcpus * 50" {
				t.Errorf("%s of %s: settings %+v", family, name, got.Kubelet)
			}
		}
	}
	windows := withExpressions(t, api.AMIFamilyWindows2022, expressions, nil)["m5.large"]
	if *windows.Kubelet.MaxPods != 108 || windows.Kubelet.KubeReserved["memory"] != "1200Mi" {
		t.Errorf("Windows: settings %+v", windows.Kubelet)
	}
}

func TestATypeWithoutValuesIsLeftOut(t *testing.T) {
	const settings = `{"maxPods": "max_pods - 2"}`
	without := withExpressions(t, api.AMIFamilyAL2023, settings, func(known kubelet.Evaluations) {
		for _, evaluated := range known {
			delete(evaluated.Types, "m5.large")
		}
	})
	if _, found := without["m5.large"]; found || len(without) == 0 {
		t.Errorf("%d types, m5.large among them: %t", len(without), found)
	}
	none := withExpressions(t, api.AMIFamilyAL2023, settings, func(known kubelet.Evaluations) { clear(known) })
	if len(none) > 0 {
		t.Errorf("%d types before the evaluation", len(none))
	}
}

// Package catalogtest provides tests with a catalogue of real instance types and a ready
// EC2NodeClass.
//
// The catalogue is that of package builtin. Only tests import this package.
package catalogtest

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/builtin"
)

// Now is the time at which the catalogue was read.
var Now = time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC)

// Catalog returns all instance types of the first three zones of us-east-1, with on-demand prices
// of the table and invented spot prices.
func Catalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	s, err := builtin.Catalog(Now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// NodeClass returns a ready class of Amazon Linux 2023 in three zones, with images for both
// architectures and for NVIDIA GPUs.
func NodeClass(name string) *api.EC2NodeClass {
	requirement := func(
		key string, operator corev1.NodeSelectorOperator, values ...string,
	) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values}
	}
	class := &api.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	class.Spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: "al2023@latest"}}
	for i, zone := range []string{"us-east-1a", "us-east-1b", "us-east-1c"} {
		class.Status.Subnets = append(
			class.Status.Subnets,
			api.Subnet{ID: "subnet-" + string(rune('a'+i)), Zone: zone, ZoneID: "use1-az" + string(rune('1'+i))},
		)
	}
	class.Status.AMIs = []api.AMI{
		{ID: "ami-1", Requirements: []corev1.NodeSelectorRequirement{
			requirement(corev1.LabelArchStable, corev1.NodeSelectorOpIn, api.ArchitectureAmd64),
			requirement(api.LabelInstanceGPUCount, corev1.NodeSelectorOpDoesNotExist),
			requirement(api.LabelInstanceAcceleratorCount, corev1.NodeSelectorOpDoesNotExist),
		}},
		{ID: "ami-2", Requirements: []corev1.NodeSelectorRequirement{
			requirement(corev1.LabelArchStable, corev1.NodeSelectorOpIn, api.ArchitectureArm64),
			requirement(api.LabelInstanceGPUCount, corev1.NodeSelectorOpDoesNotExist),
			requirement(api.LabelInstanceAcceleratorCount, corev1.NodeSelectorOpDoesNotExist),
		}},
		{ID: "ami-3", Requirements: []corev1.NodeSelectorRequirement{
			requirement(corev1.LabelArchStable, corev1.NodeSelectorOpIn, api.ArchitectureAmd64),
			requirement(api.LabelInstanceGPUCount, corev1.NodeSelectorOpExists),
		}},
	}
	class.Status.Conditions = []metav1.Condition{
		{Type: api.ConditionReady, Status: metav1.ConditionTrue, Reason: api.ConditionReady},
	}
	return class
}

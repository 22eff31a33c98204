package catalog_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// TestNoGPUIsSoldTwice checks how many whole GPUs of eight are left beside the parts that an overlay adds.
func TestNoGPUIsSoldTwice(t *testing.T) {
	type amounts map[corev1.ResourceName]string
	for name, test := range map[string]struct {
		capacity amounts
		want     int64
	}{
		"all cut into seven":      {amounts{"nvidia.com/mig-1g.5gb": "56"}, 0},
		"two of eight cut":        {amounts{"nvidia.com/mig-1g.5gb": "14"}, 6},
		"a part of one cut":       {amounts{"nvidia.com/mig-2g.10gb": "1"}, 7},
		"three twos each":         {amounts{"nvidia.com/mig-2g.10gb": "24"}, 0},
		"two threes each":         {amounts{"nvidia.com/mig-3g.20gb": "16"}, 0},
		"one four each":           {amounts{"nvidia.com/mig-4g.20gb": "8"}, 0},
		"fours beside threes":     {amounts{"nvidia.com/mig-4g.20gb": "4", "nvidia.com/mig-3g.20gb": "4"}, 4},
		"with media engines":      {amounts{"nvidia.com/mig-1g.5gb.me": "8"}, 6},
		"more than there are":     {amounts{"nvidia.com/mig-7g.40gb": "9000000000000000000"}, 0},
		"the overlay says":        {amounts{"nvidia.com/mig-1g.5gb": "56", api.ResourceNVIDIAGPU: "4"}, 4},
		"shared by time":          {amounts{"nvidia.com/gpu.shared": "32"}, 0},
		"slices shared by time":   {amounts{"nvidia.com/mig-1g.5gb.shared": "56"}, 8},
		"no slice after all":      {amounts{"nvidia.com/mig-1g.5gb": "0"}, 8},
		"a resource of other use": {amounts{"example.com/license": "3"}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			eight := corev1.ResourceList{api.ResourceNVIDIAGPU: resource.MustParse("8")}
			overlay := api.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: "parts"}}
			overlay.Spec.Requirements = []corev1.NodeSelectorRequirement{}
			overlay.Spec.Capacity = corev1.ResourceList{}
			for resourceName, amount := range test.capacity {
				overlay.Spec.Capacity[resourceName] = resource.MustParse(amount)
			}
			types := []catalog.InstanceType{{
				Name: "p4d.24xlarge", Capacity: eight, Allocatable: eight,
				Offerings: []catalog.Offering{{CapacityType: api.CapacityTypeOnDemand, Zone: "a", Available: true}},
			}}
			got, problems := catalog.ApplyOverlays(types, &api.NodePool{}, []api.NodeOverlay{overlay})
			whole, allocatable := got[0].Capacity[api.ResourceNVIDIAGPU], got[0].Allocatable[api.ResourceNVIDIAGPU]
			if len(problems) > 0 || whole.Value() != test.want || allocatable.Value() != test.want {
				t.Errorf("%v whole GPUs, %v allocatable, want %d (%v)", &whole, &allocatable, test.want, problems)
			}
			if given := types[0].Capacity[api.ResourceNVIDIAGPU]; given.Value() != 8 {
				t.Error("the given type changed")
			}
		})
	}
}

package planner_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
)

// reserve makes the type's offerings those of a reservation with so many free instances.
func reserve(typ *catalog.InstanceType, id string, free int) {
	for i := range typ.Offerings {
		o := &typ.Offerings[i]
		o.CapacityType, o.ReservationID, o.ReservationCapacity = api.CapacityTypeReserved, id, free
	}
}

// TestReasonsNameTheCause checks that the reason of a pod without a place names what a person can
// change: a daemon set that leaves no room, a resource that needs a NodeOverlay, or a full reservation.
func TestReasonsNameTheCause(t *testing.T) {
	asking := func(name corev1.ResourceName) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests[name] = resource.MustParse("1") }
	}
	device := smallType("device", 4, 16, 0.5, api.ArchitectureAmd64)
	device.Allocatable[api.ResourceNVIDIAGPU] = resource.MustParse("1")
	block := smallType("block", 4, 16, 0.2, api.ArchitectureAmd64)
	other := smallType("other", 4, 16, 0.3, api.ArchitectureAmd64)
	reserve(&block, "cr-block", 2)
	reserve(&other, "cr-other", 1)
	demand := smallType("demand", 4, 16, 0.2, api.ArchitectureAmd64)
	large := smallType("large", 32, 128, 3, api.ArchitectureAmd64)
	for _, test := range []struct {
		name  string
		types []catalog.InstanceType
		pods  int
		pod   func(*corev1.Pod)
		// wants are parts of the reason of each pod that the plan leaves out, of which there are left.
		left  int
		wants []string
	}{
		{"a daemon set leaves no room on the types with the device", []catalog.InstanceType{device, large}, 1,
			asking(api.ResourceNVIDIAGPU), 1, []string{"requires nvidia.com/gpu 1, of which",
				"; of types that would do, the instance type device has no room for its daemon sets: default/agent requests " +
					"cpu 5, and device offers 4"}},
		{"a resource that no type has", []catalog.InstanceType{large}, 1, asking("nvidia.com/mig-1g.5gb"), 1,
			[]string{"requires nvidia.com/mig-1g.5gb 1", "declare it by a NodeOverlay"}},
		{"a device of other types", []catalog.InstanceType{large}, 1, asking(api.ResourceNVIDIAGPU), 1,
			[]string{"requires nvidia.com/gpu 1", "allow types that do"}},
		{"a full reservation", []catalog.InstanceType{block}, 3, nil, 1,
			[]string{"this plan's nodes take all free instances of capacity reservation cr-block (2 free): enlarge it"}},
		{"full reservations", []catalog.InstanceType{block, other}, 5, nil, 2,
			[]string{"capacity reservation cr-block (2 free), cr-other (1 free)"}},
		{"other capacity", []catalog.InstanceType{block, demand}, 5, nil, 0, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &plan.Snapshot{
				NodePools: []api.NodePool{newPool("default")}, NodeClasses: []api.EC2NodeClass{{}},
				InstanceTypes: map[string][]catalog.InstanceType{"default": test.types},
			}
			s.NodeClasses[0].Name = "default"
			if test.pods == 1 {
				var agent appsv1.DaemonSet
				agent.Namespace, agent.Name = "default", "agent"
				agent.Spec.Template.Spec = newPod("agent", "5", "1Gi").Spec
				s.DaemonSets = append(s.DaemonSets, agent)
			}
			for i := range test.pods {
				pod := newPod(fmt.Sprint("p", i), "3", "1Gi")
				if test.pod != nil {
					test.pod(&pod)
				}
				s.Pods = append(s.Pods, pod)
			}
			p := planner.Solve(s)
			if len(p.Unplaced) != test.left {
				t.Errorf("%d pods have no place, want %d: %+v", len(p.Unplaced), test.left, p.Unplaced)
			}
			for _, u := range p.Unplaced {
				for _, want := range test.wants {
					if !strings.Contains(u.Reasons[0].Message, want) {
						t.Errorf("the reason lacks %q: %s", want, u.Reasons[0].Message)
					}
				}
			}
		})
	}
}

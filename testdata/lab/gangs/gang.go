package gangs

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// GangLabel is on the pods and on the nodes of a gang. No other pods run on these nodes.
const GangLabel = "example.com/gang"

// shortShare is the share of the offerings that EC2 lacks where it has any.
const shortShare = 0.7

// Gang is a PodGroup and its pods, all of which it needs.
type Gang struct {
	Group *unstructured.Unstructured
	Pods  []*corev1.Pod
}

// Make is the gang of a seed: 2 to 24 pods of one size or of two. A third of the gangs ask for one
// zone, whichever it is, and a third for one of the zones.
func Make(name string, seed uint64, zones []string) Gang {
	random := rand.New(rand.NewPCG(seed, 1))
	var annotations, selected map[string]string
	switch random.IntN(3) {
	case 0:
		annotations = map[string]string{api.RequiredTopologyAnnotationKey: corev1.LabelTopologyZone}
	case 1:
		selected = map[string]string{corev1.LabelTopologyZone: zones[random.IntN(len(zones))]}
	}
	var gang Gang
	for kind := range 1 + random.IntN(2) {
		count, size := 1+random.IntN(12), resources(random)
		if kind == 0 {
			count++
		}
		for i := range count {
			gang.Pods = append(gang.Pods, podOf(name, fmt.Sprintf("%s-%d-%d", name, kind, i), annotations, selected, size))
		}
	}
	gang.Group = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": api.PodGroupAPIVersion, "kind": api.PodGroupKind,
		"metadata": map[string]any{"name": name, "labels": map[string]any{GangLabel: name}},
		"spec":     map[string]any{"minMember": int64(len(gang.Pods))},
	}}
	return gang
}

// resources are those of a pod: 0.2 to 6.8 CPUs, with 1 to 6 GiB for each.
func resources(random *rand.Rand) corev1.ResourceList {
	milli := int64(200 + random.IntN(12)*600)
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(milli, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(milli*int64(1+random.IntN(6))<<20, resource.BinarySI),
	}
}

func podOf(gang, name string, annotations, selected map[string]string, size corev1.ResourceList) *corev1.Pod {
	noGrace := int64(0)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: annotations, Labels: map[string]string{GangLabel: gang, api.PodGroupLabelKey: gang},
		},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{GangLabel: gang}, TerminationGracePeriodSeconds: &noGrace,
			Containers: []corev1.Container{{
				Name: "app", Image: "registry.k8s.io/pause:3.10", Resources: corev1.ResourceRequirements{Requests: size},
			}},
		},
	}
	for key, value := range selected {
		pod.Spec.NodeSelector[key] = value
	}
	return pod
}

// Short are the offerings that EC2 lacks, by a seed: 70 % of those of the types in the zones, spot
// and on demand. In every fourth shortage one zone has nothing at all.
func Short(seed uint64, types, zones []string) []ec2.Starvation {
	random := rand.New(rand.NewPCG(seed, 2))
	var short []ec2.Starvation
	if seed%4 == 3 {
		short = append(short, ec2.Starvation{Zone: zones[random.IntN(len(zones))]})
	}
	for _, instanceType := range types {
		for _, zone := range zones {
			for _, capacityType := range []string{api.CapacityTypeSpot, api.CapacityTypeOnDemand} {
				if random.Float64() < shortShare {
					short = append(short, ec2.Starvation{InstanceType: instanceType, Zone: zone, CapacityType: capacityType})
				}
			}
		}
	}
	return short
}

package snapshot_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// changedAgents are the objects of a random cluster whose DaemonSets make other pods than their
// templates say. Wanted has what the pods really request in its templates.
func changedAgents(random *rand.Rand, s *plan.Snapshot) (o *snapshot.Objects, wanted *plan.Snapshot) {
	o, wanted = &snapshot.Objects{}, &plan.Snapshot{}
	*wanted = *s
	wanted.DaemonSets = nil
	amounts := func() corev1.ResourceList {
		made := cpu([]string{"100m", "1", "1900m"}[random.IntN(3)])
		made[corev1.ResourceMemory] = cpu([]string{"64Mi", "1Gi"}[random.IntN(2)])[corev1.ResourceCPU]
		return made
	}
	defaults := amounts()
	o.LimitRanges = []corev1.LimitRange{limitRange(metav1.NamespaceSystem, "defaults", "1", corev1.LimitTypeContainer)}
	o.LimitRanges[0].Spec.Limits[0].DefaultRequest = defaults
	for i := range s.DaemonSets {
		template, real := s.DaemonSets[i].DeepCopy(), s.DaemonSets[i].DeepCopy()
		requests := &real.Spec.Template.Spec.Containers[0].Resources
		switch random.IntN(3) {
		case 0: // The namespace's defaults count.
			template.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{}
			*requests = corev1.ResourceRequirements{Requests: defaults}
		case 1: // A webhook has changed the newest pod, and another one the pod before.
			for age := range 2 {
				pod := corev1.Pod{Spec: *template.Spec.Template.Spec.DeepCopy()}
				pod.Namespace, pod.Name = template.Namespace, fmt.Sprintf("%s-%d", template.Name, age)
				pod.CreationTimestamp = metav1.NewTime(noon.AddDate(0, 0, -age))
				pod.OwnerReferences = []metav1.OwnerReference{
					{Kind: "DaemonSet", Name: template.Name, UID: template.UID, Controller: new(true)},
				}
				pod.Spec.Affinity = onNode("another")
				pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: amounts()}
				if age == 0 {
					*requests = pod.Spec.Containers[0].Resources
				}
				o.Pods = append(o.Pods, pod)
			}
		}
		o.DaemonSets, wanted.DaemonSets = append(o.DaemonSets, *template), append(wanted.DaemonSets, *real)
	}
	random.Shuffle(len(o.Pods), func(i, j int) { o.Pods[i], o.Pods[j] = o.Pods[j], o.Pods[i] })
	return o, wanted
}

// TestPlansHaveRoomForTheRealDaemonSets plans for random clusters with changed DaemonSets, and checks
// the plans against the pods that these really make.
func TestPlansHaveRoomForTheRealDaemonSets(t *testing.T) {
	changed := 0
	for seed := range plantest.Seeds(300) {
		s := plantest.Random(seed)
		if len(s.DaemonSets) == 0 {
			continue
		}
		o, wanted := changedAgents(rand.New(rand.NewPCG(seed, 7)), s)
		made := snapshot.Assemble(o, func(*api.NodePool) []catalog.InstanceType { return nil }, nil, noon)
		input := *s
		input.DaemonSets = made.DaemonSets
		for _, fault := range plantest.Check(wanted, planner.Solve(&input)) {
			t.Errorf("seed %d: %s", seed, fault)
		}
		input.DaemonSets = o.DaemonSets
		if len(plantest.Check(wanted, planner.Solve(&input))) > 0 {
			changed++
		}
	}
	if changed < int(plantest.Seeds(20)) {
		t.Errorf("the templates alone give only %d wrong plans: the test shows too little", changed)
	}
}

package plantest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// WithDaemonLabels adds daemon sets that run on nodes of some values of the custom labels, and pods
// that ask for values. More NodePools leave the labels to their pods. It changes the snapshot, the
// same for the same seed, and returns it.
func WithDaemonLabels(s *plan.Snapshot, seed uint64) *plan.Snapshot {
	random := rand.New(rand.NewPCG(seed, 0x6c6162656c73))
	for i := range s.NodePools {
		openLabels(random, &s.NodePools[i])
	}
	for i := range 1 + random.IntN(4) {
		set := appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: fmt.Sprintf("labelled-%d", i)},
		}
		set.UID = uid("ds", set.Name)
		set.Spec.Template.Spec = corev1.PodSpec{
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers: []corev1.Container{{Name: "agent", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse([]string{"100m", "400m", "800m"}[random.IntN(3)]),
				},
			}}},
		}
		selectLabels(random, &set.Spec.Template.Spec)
		s.DaemonSets = append(s.DaemonSets, set)
	}
	// The pods of an app are alike.
	asks := map[string]string{}
	for i := range s.Pods {
		pod := &s.Pods[i]
		app := pod.Namespace + "/" + pod.Labels["app"]
		team, known := asks[app]
		if !known {
			team = []string{"", "", "red", "blue", "green", "black"}[random.IntN(6)]
			asks[app] = team
		}
		if team != "" && pod.Spec.NodeSelector[teamLabel] == "" {
			selector := map[string]string{teamLabel: team}
			for key, value := range pod.Spec.NodeSelector {
				selector[key] = value
			}
			pod.Spec.NodeSelector = selector
		}
	}
	return s
}

// openLabels makes the pool leave labels to its pods that it says nothing of.
func openLabels(random *rand.Rand, pool *api.NodePool) {
	for _, key := range customLabels() {
		_, fixed := pool.Spec.Template.Labels[key]
		if fixed || slices.ContainsFunc(pool.Spec.Template.Spec.Requirements,
			func(r api.NodeSelectorRequirementWithMinValues) bool { return r.Key == key }) {
			continue
		}
		switch random.IntN(4) {
		case 0:
			addRequirement(pool, key, corev1.NodeSelectorOpExists, 0)
		case 1:
			addRequirement(pool, key, corev1.NodeSelectorOpNotIn, 0, "green")
		case 2:
			addRequirement(pool, key, corev1.NodeSelectorOpIn, 0, "red", "blue", "5")
		}
	}
}

// selectLabels gives a daemon set's pod node terms about the custom labels, with each operator.
func selectLabels(random *rand.Rand, spec *corev1.PodSpec) {
	if random.IntN(2) == 0 {
		spec.NodeSelector = map[string]string{teamLabel: []string{"red", "blue", "true"}[random.IntN(3)]}
		return
	}
	terms := []corev1.NodeSelectorRequirement{
		{Key: teamLabel, Operator: corev1.NodeSelectorOpIn, Values: []string{"red", "green"}},
		{Key: teamLabel, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"red"}},
		{Key: teamLabel, Operator: corev1.NodeSelectorOpExists},
		{Key: teamLabel, Operator: corev1.NodeSelectorOpDoesNotExist},
		{Key: slotLabel, Operator: corev1.NodeSelectorOpGt, Values: []string{"4"}},
		{Key: slotLabel, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"5", "6"}},
		{Key: corev1.LabelArchStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"arm64"}},
	}
	selector := &corev1.NodeSelector{}
	for range 1 + random.IntN(2) {
		term := corev1.NodeSelectorTerm{}
		for range 1 + random.IntN(2) {
			term.MatchExpressions = append(term.MatchExpressions, terms[random.IntN(len(terms))])
		}
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, term)
	}
	spec.Affinity = &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: selector},
	}
}

package relations_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/consolidation/relations"
	"github.com/whittle-dev/whittle/shared/plan"
)

func app(name string) corev1.Pod {
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}}}
}

func selecting(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

func TestPodsAreRelatedBySpreadAndAffinity(t *testing.T) {
	spread, near, alone, selected := app("spread"), app("near"), app("alone"), app("selected")
	spread.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
		{TopologyKey: corev1.LabelTopologyZone, LabelSelector: selecting("spread")},
	}
	near.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: corev1.LabelHostname, LabelSelector: selecting("selected")},
		},
	}}
	index := relations.Read(&plan.Snapshot{
		Pods: []corev1.Pod{spread}, Nodes: []plan.Node{{Pods: []corev1.Pod{near, alone, selected}}},
	})
	if index.Selectors() != 2 {
		t.Errorf("%d selectors, want 2", index.Selectors())
	}
	if got := index.Topologies(); !slices.Equal(got, []string{corev1.LabelTopologyZone}) {
		t.Errorf("topologies %v, want the zone only", got)
	}
	for _, test := range []struct {
		name      string
		pod       corev1.Pod
		related   bool
		selectors []int
	}{
		{"a pod that is spread among its own", spread, true, []int{0}},
		{"a pod with affinity to others", near, true, []int{1}},
		{"a pod that others have affinity to", selected, true, []int{1}},
		{"a pod that nobody counts", alone, false, nil},
	} {
		related, selectors := index.Of(&test.pod)
		if related != test.related || !slices.Equal(selectors, test.selectors) {
			t.Errorf("%s: related %t by %v, want %t by %v", test.name, related, selectors, test.related, test.selectors)
		}
	}
}

package plan_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/plan"
)

func pod(name, node string, options ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PodSpec{NodeName: node}}
	for _, option := range options {
		option(&p)
	}
	return p
}

func TestNeedsVolumes(t *testing.T) {
	with := func(source corev1.VolumeSource) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{VolumeSource: source}) }
	}
	claimed := with(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}})
	for name, test := range map[string]struct {
		snapshot plan.Snapshot
		want     bool
	}{
		"none": {plan.Snapshot{Pods: []corev1.Pod{pod("p", "")}}, false},
		"of no claim": {
			plan.Snapshot{Pods: []corev1.Pod{pod("p", "", with(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}))}},
			false,
		},
		"a claim": {plan.Snapshot{Pods: []corev1.Pod{pod("q", ""), pod("p", "", claimed)}}, true},
		"ephemeral": {
			plan.Snapshot{
				Pods: []corev1.Pod{pod("p", "", with(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}))},
			},
			true,
		},
		"of a running pod": {
			plan.Snapshot{Pods: []corev1.Pod{pod("q", "")}, Nodes: []plan.Node{{Pods: []corev1.Pod{pod("p", "n", claimed)}}}},
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := plan.NeedsOf(test.snapshot.Pods, test.snapshot.Nodes).Volumes; got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestNeedsNamespaces(t *testing.T) {
	term := corev1.PodAffinityTerm{
		TopologyKey: "zone", NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}},
	}
	affinity := func(a corev1.Affinity) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.Affinity = &a } }
	required, weighted := []corev1.PodAffinityTerm{term}, []corev1.WeightedPodAffinityTerm{
		{Weight: 1, PodAffinityTerm: term},
	}
	for name, test := range map[string]struct {
		affinity         corev1.Affinity
		waiting, running bool
	}{
		"none": {corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}, false, false},
		"without selector": {
			corev1.Affinity{
				PodAffinity: &corev1.PodAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{Namespaces: []string{"a"}}},
				},
			},
			false, false,
		},
		"near": {
			corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}},
			true, false,
		},
		"rather near": {
			corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted}},
			true, false,
		},
		"away": {
			corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}},
			true, true,
		},
		"rather away": {
			corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: weighted}},
			true, false,
		},
		"of all namespaces": {
			corev1.Affinity{
				PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
						{NamespaceSelector: &metav1.LabelSelector{}},
					},
				},
			},
			true, true,
		},
		"empty": {corev1.Affinity{}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			selects := affinity(test.affinity)
			if got := plan.NeedsOf([]corev1.Pod{pod("q", ""), pod("p", "", selects)}, nil).Namespaces; got != test.waiting {
				t.Errorf("of a waiting pod: %v", got)
			}
			nodes := []plan.Node{{Pods: []corev1.Pod{pod("p", "n", selects)}}}
			if got := plan.NeedsOf([]corev1.Pod{pod("q", "")}, nodes).Namespaces; got != test.running {
				t.Errorf("of a running pod: %v", got)
			}
			if plan.NeedsOf(nil, nodes).Namespaces {
				t.Error("no pod waits, and yet")
			}
		})
	}
}

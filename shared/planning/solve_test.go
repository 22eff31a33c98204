package planning_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planning"
)

// pod requests a core, and gets what the options add.
func pod(name string, options ...func(*corev1.Pod)) corev1.Pod {
	made := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	made.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}}}
	for _, option := range options {
		option(&made)
	}
	return made
}

func mounting(pod *corev1.Pod) {
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
}

func inGang(pod *corev1.Pod) { pod.Labels = map[string]string{api.PodGroupLabelKey: "training"} }

// repelling keeps away from the pods of namespaces of a team.
func repelling(pod *corev1.Pod) {
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey:       corev1.LabelHostname,
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}},
		}},
	}}
}

// snapshot has a node with room for three pods.
func snapshot(pods ...corev1.Pod) *plan.Snapshot {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("3"), corev1.ResourcePods: resource.MustParse("10"),
	}
	return &plan.Snapshot{Pods: pods, Nodes: []plan.Node{{Node: node}}}
}

func unplaced(made *plan.Plan) string {
	var names []string
	for _, left := range made.Unplaced {
		names = append(names, left.Pod.Name)
	}
	return strings.Join(names, " ")
}

// TestPodsThatNeedWhatNobodyHasReadWait tells apart what was read and is absent, and what was not read.
func TestPodsThatNeedWhatNobodyHasReadWait(t *testing.T) {
	all := plan.Details{}.Not()
	for _, test := range []struct {
		name     string
		snapshot *plan.Snapshot
		unread   plan.Details
		want     string // the pods without a place
		says     string // what the plan names as unread
	}{
		{"nothing is needed", snapshot(pod("a"), pod("b")), all, "", ""},
		{"a claim that does not exist", snapshot(pod("a"), pod("b", mounting)), plan.Details{Namespaces: true}, "b", ""},
		{"a claim that was not read", snapshot(pod("a"), pod("b", mounting)), all, "b", "volumes"},
		{"namespaces that were not read", snapshot(pod("a"), pod("b", repelling)), all, "a b", "namespaces"},
		{"namespaces that do not exist", snapshot(pod("a"), pod("b", repelling)), plan.Details{Volumes: true}, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.snapshot.Unread = test.unread
			before := len(test.snapshot.Pods)
			made := planning.Solve(test.snapshot)
			if got := unplaced(made); got != test.want {
				t.Errorf("%q have no place, want %q", got, test.want)
			}
			if made.Unread.And(test.unread) != made.Unread || (made.Fault() == "") != (test.says == "") ||
				!strings.Contains(made.Fault(), test.says) {
				t.Errorf("the plan's fault is %q, want %q", made.Fault(), test.says)
			}
			if test.says != "" && !strings.Contains(made.Unplaced[0].Reasons[0].Message, test.says+" were not read") {
				t.Errorf("the reason is %q", made.Unplaced[0].Reasons[0].Message)
			}
			if len(test.snapshot.Pods) != before {
				t.Error("the snapshot has changed")
			}
		})
	}
}

// TestAGangIsPlacedAsAWhole has room for three pods.
func TestAGangIsPlacedAsAWhole(t *testing.T) {
	s := snapshot(pod("a", inGang), pod("b", inGang), pod("c", inGang), pod("d", inGang), pod("e"))
	s.Gangs = []plan.Gang{{GangRef: plan.GangRef{Namespace: "default", Name: "training"}, MinMember: 4}}
	if got := unplaced(planning.Solve(s)); got != "a b c d" {
		t.Errorf("%q have no place, want the gang", got)
	}
}

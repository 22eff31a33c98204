package chaos

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/testdata/lab/laws"
)

func TestProtectedPodsStay(t *testing.T) {
	pod := func(app, uid string, phase corev1.PodPhase) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: uid, UID: types.UID(uid), Labels: map[string]string{"app": app}},
			Status:     corev1.PodStatus{Phase: phase},
		}
	}
	now := metav1.Now()
	going := pod(undisturbed, "a", corev1.PodRunning)
	going.DeletionTimestamp = &now
	running := map[string]string{}
	for i, step := range []struct {
		pods []corev1.Pod
		want []string
	}{
		{[]corev1.Pod{pod(undisturbed, "a", corev1.PodPending), pod("other", "b", corev1.PodRunning)}, nil},
		{nil, nil}, // neither a pod that never ran nor another's
		{[]corev1.Pod{pod(undisturbed, "a", corev1.PodRunning), pod(undisturbed, "c", corev1.PodRunning)}, nil},
		{
			[]corev1.Pod{going, pod(undisturbed, "c", corev1.PodRunning)},
			[]string{"pod a on node  must not be disrupted, and was evicted"},
		},
		{[]corev1.Pod{pod(undisturbed, "c", corev1.PodRunning)}, nil}, // said once
		{nil, []string{"pod c on node  must not be disrupted, and was evicted"}},
	} {
		if got := evicted(laws.Pointers(step.pods), running); !slices.Equal(got, step.want) {
			t.Errorf("look %d: %v, want %v", i, got, step.want)
		}
	}
}

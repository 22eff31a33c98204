package cluster_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// running creates a pod that a disruption budget counts: it runs and is ready.
func running(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	made := pod(t, name, "eviction-node")
	made.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	made.Status.Phase = corev1.PodRunning
	made.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if _, err := write(t, podResource, made, "status"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, name) })
	return made
}

func TestEvictAsksThePodToLeave(t *testing.T) {
	evicted := running(t, "evicted")
	if err := client(t).Evict(t.Context(), evicted); err != nil {
		t.Fatal(err)
	}
	if left := read(t, "evicted"); left != nil && left.DeletionTimestamp == nil {
		t.Error("the pod was not asked to leave")
	}
	// An eviction succeeds for a pod that is terminating, and for one that has gone.
	if err := client(t).Evict(t.Context(), evicted); err != nil {
		t.Errorf("evicting a pod that leaves: %v", err)
	}
	remove(t, "evicted")
	if err := client(t).Evict(t.Context(), evicted); err != nil {
		t.Errorf("evicting a pod that is gone: %v", err)
	}
}

func TestEvictSparesAnotherOfTheSameName(t *testing.T) {
	replaced := running(t, "replaced")
	replaced.UID = "of-the-one-before"
	if err := client(t).Evict(t.Context(), replaced); err != nil {
		t.Errorf("evicting a pod that was replaced: %v", err)
	}
	if err := client(t).DeletePod(t.Context(), replaced, nil); err != nil {
		t.Errorf("deleting a pod that was replaced: %v", err)
	}
	if left := read(t, "replaced"); left == nil || left.DeletionTimestamp != nil {
		t.Error("its successor was asked to leave")
	}
}

func TestABudgetForbidsAnEviction(t *testing.T) {
	none := intstr.FromInt32(0)
	create(t, schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
		&policyv1.PodDisruptionBudget{
			TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "guarded"},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "guarded"}},
			},
		})
	guarded := running(t, "guarded")
	if err := client(t).Evict(t.Context(), guarded); !apierrors.IsTooManyRequests(err) {
		t.Errorf("error is %v, want that there are too many requests", err)
	}
	if left := read(t, "guarded"); left == nil || left.DeletionTimestamp != nil {
		t.Error("the pod was asked to leave whatever its budget says")
	}
	// A deletion ignores the budget.
	grace := int64(0)
	if err := client(t).DeletePod(t.Context(), guarded, &grace); err != nil {
		t.Fatal(err)
	}
	if left := read(t, "guarded"); left != nil {
		t.Error("the pod is there still")
	}
}

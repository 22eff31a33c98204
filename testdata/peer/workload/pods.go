package workload

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// seed of all random choices.
const seed = 42

const (
	kibibyte = 1 << 10
	mebibyte = 1 << 20
)

func newRandom() *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

// requests are in thousandths of a cpu and in bytes.
type requests struct{ milliCPU, memory int64 }

// newPod makes a pod as the scheduler leaves one that it found no node for.
func newPod(name string, r requests, labels map[string]string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault,
			Name:      name,
			UID:       types.UID("uid-" + name),
			Labels:    labels,
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "app", Image: "example.com/app",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewMilliQuantity(r.milliCPU, resource.DecimalSI),
				corev1.ResourceMemory: *resource.NewQuantity(r.memory, resource.BinarySI),
			}},
		}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodPending,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
			},
		},
	}
}

func podName(kind string, i int) string { return fmt.Sprintf("%s-%05d", kind, i) }

func selector(labels map[string]string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: labels}
}

func spread(
	key string,
	when corev1.UnsatisfiableConstraintAction,
	labels map[string]string,
) corev1.TopologySpreadConstraint {
	return corev1.TopologySpreadConstraint{
		MaxSkew:           1,
		TopologyKey:       key,
		WhenUnsatisfiable: when,
		LabelSelector:     selector(labels),
	}
}

func term(key string, labels map[string]string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: selector(labels)}
}

func apart(key string, labels map[string]string) *corev1.Affinity {
	return &corev1.Affinity{
		PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(key, labels)},
		},
	}
}

func together(key string, labels map[string]string) *corev1.Affinity {
	return &corev1.Affinity{
		PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(key, labels)},
		},
	}
}

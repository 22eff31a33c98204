package plantest

import (
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/plan"
)

// WithEdges gives some pods what is legal and rare: quantities at the edges, selectors that select nothing
// or everything, devices of dynamic resource allocation, volumes in the pod, and containers that are being
// resized. Some daemon sets request more than their containers do. It changes the snapshot, the same for the
// same seed, and returns it.
func WithEdges(s *plan.Snapshot, seed uint64) *plan.Snapshot {
	e := &edges{rand.New(rand.NewPCG(seed, 0x6564676573))}
	for i := range s.Pods {
		pod := &s.Pods[i]
		if e.IntN(3) == 0 {
			e.quantities(pod)
		}
		if e.IntN(3) == 0 {
			e.selectors(pod)
		}
		switch e.IntN(20) {
		case 0:
			pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: pointer("gpu")}}
		case 1:
			e.volumes(pod)
		}
	}
	for i := range s.DaemonSets {
		e.agent(&s.DaemonSets[i].Spec.Template.Spec)
	}
	for i := range s.Nodes {
		for j := range s.Nodes[i].Pods {
			if e.IntN(4) == 0 {
				e.resize(&s.Nodes[i].Pods[j])
			}
		}
	}
	return s
}

type edges struct{ *rand.Rand }

// agent gives a daemon set's pods something to request beside their containers.
func (e *edges) agent(spec *corev1.PodSpec) {
	switch e.IntN(6) {
	case 0:
		spec.InitContainers = []corev1.Container{{Name: "init", Resources: requests("400m", "64Mi")}}
	case 1:
		spec.Overhead = requests("110m", "70Mi").Requests
	case 2:
		spec.Resources = pointer(requests("350m", "300Mi"))
	}
}

func (e *edges) oneOf(values ...string) string { return values[e.IntN(len(values))] }

// quantities are less than a unit, not a whole number of units, more than any node has, or zero.
func (e *edges) quantities(pod *corev1.Pod) {
	container := &pod.Spec.Containers[e.IntN(len(pod.Spec.Containers))]
	if container.Resources.Requests == nil {
		container.Resources.Requests = corev1.ResourceList{}
	}
	container.Resources.Requests[corev1.ResourceCPU] = resource.MustParse(e.oneOf("0", "1n", "1500u", "0.9999", "9P"))
	container.Resources.Requests[corev1.ResourceMemory] = resource.MustParse(
		e.oneOf("0", "1", "1500m", "0.7Gi", "128974848", "4Ei"))
}

// selectors replaces those of some constraints.
func (e *edges) selectors(pod *corev1.Pod) {
	constraints := pod.Spec.TopologySpreadConstraints
	for i := range constraints {
		if len(constraints[i].MatchLabelKeys) == 0 {
			constraints[i].LabelSelector = e.selector()
		}
	}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.PodAffinity != nil {
		e.terms(affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	if affinity := pod.Spec.Affinity; affinity != nil && affinity.PodAntiAffinity != nil {
		e.terms(affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
}

func (e *edges) terms(terms []corev1.PodAffinityTerm) {
	for i := range terms {
		if len(terms[i].MatchLabelKeys)+len(terms[i].MismatchLabelKeys) == 0 {
			terms[i].LabelSelector = e.selector()
		}
	}
}

// selector selects nothing, everything, or pods by a label alone.
func (e *edges) selector() *metav1.LabelSelector {
	switch e.IntN(5) {
	case 0:
		return nil
	case 1:
		return &metav1.LabelSelector{}
	case 2:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "nothing"}}
	default:
		operator := metav1.LabelSelectorOperator(e.oneOf("Exists", "DoesNotExist"))
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: e.oneOf("app", "nothing"), Operator: operator},
		}}
	}
}

// volumes are those that a pod names itself, of the drivers that have limits.
func (e *edges) volumes(pod *corev1.Pod) {
	pod.Spec.Volumes = append(slices.Clone(pod.Spec.Volumes),
		corev1.Volume{Name: "inline", VolumeSource: corev1.VolumeSource{
			AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-" + pod.Name}}},
		corev1.Volume{Name: "portworx", VolumeSource: corev1.VolumeSource{
			PortworxVolume: &corev1.PortworxVolumeSource{VolumeID: pod.Name}}})
}

// resize gives the pod's first container more or less than its node has given it so far. The kubelet may
// have refused to give it more.
func (e *edges) resize(pod *corev1.Pod) {
	container := &pod.Spec.Containers[0]
	given := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(e.oneOf("10m", "333m", "2500m")),
		corev1.ResourceMemory: resource.MustParse(e.oneOf("10Mi", "333Mi", "2500Mi")),
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: container.Name, AllocatedResources: given, Resources: &corev1.ResourceRequirements{Requests: given},
	}}
	if e.IntN(2) == 0 {
		pod.Status.Conditions = append(slices.Clone(pod.Status.Conditions), corev1.PodCondition{
			Type: corev1.PodResizePending, Status: corev1.ConditionTrue,
			Reason: e.oneOf(corev1.PodReasonInfeasible, corev1.PodReasonDeferred),
		})
	}
}

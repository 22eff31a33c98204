package api

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// PodGroupAPIVersion and PodGroupKind are those of scheduler-plugins' coscheduling.
	// https://github.com/kubernetes-sigs/scheduler-plugins/tree/master/pkg/coscheduling
	PodGroupAPIVersion = "scheduling.x-k8s.io/v1alpha1"
	PodGroupKind       = "PodGroup"
	// PodGroupLabelKey is the label of a pod with the name of its PodGroup, which is in the pod's
	// namespace.
	PodGroupLabelKey = "scheduling.x-k8s.io/pod-group"
	// PodGroupsPath is the path of all PodGroups in the API server.
	PodGroupsPath = "/apis/" + PodGroupAPIVersion + "/podgroups"
)

// PodGroup is a gang of pods for scheduler-plugins' scheduler, as far as a plan depends on it.
type PodGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec PodGroupSpec `json:"spec"`
}

// PodGroupSpec says which part of the pods is of use.
type PodGroupSpec struct {
	// MinMember is the least number of pods that run at a time. The scheduler takes 0 for 1.
	MinMember int32 `json:"minMember,omitempty"`
}

// PodGroupList is what the API server answers.
type PodGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	Items []PodGroup `json:"items"`
}

// RequiredTopology is the key of the node label of which all pods of the pod's gang need one value.
// It is empty for most pods.
func RequiredTopology(annotations map[string]string) string {
	return cmp.Or(annotations[RequiredTopologyAnnotationKey], annotations[KueueRequiredTopologyAnnotationKey])
}

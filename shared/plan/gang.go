package plan

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// GangRef names a gang: a PodGroup of scheduler-plugins.
type GangRef struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Gang is a group of pods that are of use only together.
type Gang struct {
	GangRef
	// MinMember is the least number of its pods that must run at a time, at least 2.
	MinMember int `json:"minMember"`
}

// GangsOf are the gangs of the PodGroups, without those of which any part is of use.
func GangsOf(groups []api.PodGroup) []Gang {
	var gangs []Gang
	for i := range groups {
		if least := int(groups[i].Spec.MinMember); least > 1 {
			gangs = append(gangs, Gang{GangRef{groups[i].Namespace, groups[i].Name}, least})
		}
	}
	return gangs
}

// GangOf is the gang that the pod says it belongs to. Without one the name is empty. A gang counts only if
// the snapshot has it: the scheduler takes pods of a PodGroup that does not exist as they are.
func GangOf(pod *corev1.Pod) GangRef {
	return GangRef{Namespace: pod.Namespace, Name: pod.Labels[api.PodGroupLabelKey]}
}

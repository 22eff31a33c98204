package gang

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// marks are the annotations and labels by which pods name a gang of another scheduler.
// https://volcano.sh/en/docs/podgroup
// https://yunikorn.apache.org/docs/user_guide/gang_scheduling
// https://koordinator.sh/docs/designs/gang-scheduling
var marks = []struct{ key, scheduler string }{
	{"scheduling.k8s.io/group-name", "Volcano"},
	{"scheduling.volcano.sh/group-name", "Volcano"},
	{"yunikorn.apache.org/task-group-name", "YuniKorn"},
	{"gang.scheduling.koordinator.sh/name", "Koordinator"},
	{"pod-group.scheduling.sigs.k8s.io", "Koordinator"},
}

// foreign names the gang of another scheduler that the pod belongs to. It is empty for other pods.
func foreign(pod *corev1.Pod) string {
	if group := pod.Spec.SchedulingGroup; group != nil && group.PodGroupName != nil {
		return fmt.Sprintf("the PodGroup %q of scheduling.k8s.io", *group.PodGroupName)
	}
	for _, mark := range marks {
		if name := cmp.Or(pod.Annotations[mark.key], pod.Labels[mark.key]); name != "" {
			return fmt.Sprintf("the gang %q of %s", name, mark.scheduler)
		}
	}
	return ""
}

// nameForeign adds to the reasons of pods without a place that their gang is not planned as one. A part
// of such a gang may have nodes.
func nameForeign(s *plan.Snapshot, decided *plan.Plan) {
	named := map[plan.PodRef]string{}
	for i := range s.Pods {
		if name := foreign(&s.Pods[i]); name != "" {
			named[plan.RefOf(&s.Pods[i])] = name
		}
	}
	if len(named) == 0 {
		return
	}
	for i := range decided.Unplaced {
		if name := named[decided.Unplaced[i].Pod]; name != "" {
			decided.Unplaced[i].Reasons = append(decided.Unplaced[i].Reasons, plan.Reason{Message: fmt.Sprintf(
				"it belongs to %s, which is planned pod by pod, so that a part of it may get nodes: use a %s of %s",
				name, api.PodGroupKind, api.PodGroupAPIVersion,
			)})
		}
	}
}

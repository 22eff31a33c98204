package quota

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// Room is what quotas leave, by namespace. Taking makes it smaller. Its zero value is without quotas.
type Room struct {
	byNamespace map[string][]left
}

// left is what one quota leaves of one resource.
type left struct {
	quota    string
	resource corev1.ResourceName
	amount   int64
}

// New returns the room that the quotas leave beside the pods that exist.
func New(quotas []corev1.ResourceQuota) *Room {
	room := &Room{byNamespace: map[string][]left{}}
	for i := range quotas {
		q := &quotas[i]
		if len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
			continue
		}
		for name, hard := range q.Spec.Hard {
			of := requested(name)
			if of == "" {
				continue
			}
			amount := scheduling.Amount(of, &hard)
			if used, ok := q.Status.Used[name]; ok {
				amount = scheduling.AddAmounts(amount, -scheduling.Amount(of, &used))
			}
			room.byNamespace[q.Namespace] = append(room.byNamespace[q.Namespace], left{q.Name, of, max(amount, 0)})
		}
	}
	return room
}

// requested is the resource of pods that a quota bounds under the name; empty for what pods do not
// request.
func requested(name corev1.ResourceName) corev1.ResourceName {
	switch name {
	case corev1.ResourcePods, "count/pods":
		return corev1.ResourcePods
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return name
	}
	of, bounded := strings.CutPrefix(string(name), corev1.DefaultResourceRequestsPrefix)
	if !bounded || of == string(corev1.ResourceStorage) {
		return ""
	}
	return corev1.ResourceName(of)
}

// Take takes room for pods like this one, at most count. It returns for how many there is room, and the
// quota that has no more; empty where there is room for all.
func (r *Room) Take(pod *corev1.Pod, count int) (taken int, by string) {
	requests := scheduling.PodRequests(pod)
	taken = count
	quotas := r.byNamespace[pod.Namespace]
	for i := range quotas {
		if each := amountOf(requests, quotas[i].resource); each > 0 && quotas[i].amount/each < int64(taken) {
			taken, by = int(quotas[i].amount/each), quotas[i].quota
		}
	}
	for i := range quotas {
		if each := amountOf(requests, quotas[i].resource); each > 0 && taken > 0 {
			quotas[i].amount -= each * int64(taken)
		}
	}
	return taken, by
}

func amountOf(requests corev1.ResourceList, name corev1.ResourceName) int64 {
	quantity, ok := requests[name]
	if !ok {
		return 0
	}
	return scheduling.Amount(name, &quantity)
}

// TakeAll takes room for all of the pods, or for none. It returns the quota that has too little; empty
// where the room is taken.
func (r *Room) TakeAll(pods []corev1.Pod) (by string) {
	if len(pods) == 0 {
		return ""
	}
	before := slices.Clone(r.byNamespace[pods[0].Namespace])
	for i := range pods {
		if _, by := r.Take(&pods[i], 1); by != "" {
			r.byNamespace[pods[0].Namespace] = before
			return by
		}
	}
	return ""
}

package simulate

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// gangName begins the names of PodGroups and of their pods.
const gangName = "gang"

// gather lets some seeds have a few gangs, one after another: a PodGroup with pods that the
// scheduler binds together or not at all, as scheduler-plugins does.
func (r *Run) gather() {
	e := r.engine
	if !e.Chance(0.3, "gangs") {
		return
	}
	for n := range e.Number(1, 3, "gangs", "count") {
		name := fmt.Sprintf("%s-%d", gangName, n)
		e.In(e.Between(0, 10*time.Minute, name, "begins"), func() { r.startGang(name) })
	}
}

// startGang lets a gang work for some minutes. A pod that goes is made again until its work is done.
func (r *Run) startGang(name string) {
	e := r.engine
	count := e.Number(2, 6, name, "pods")
	r.trace("%s has %d pods", name, count)
	gang := &workload{
		name: name, count: count, cpu: int64(e.Number(1, 6, name, "cpu")) * 500, memory: 512, grace: 1,
		gang: true, oneZone: e.Chance(0.5, name, "one zone"),
	}
	r.makeGang(gang)
	e.In(e.Between(3*time.Minute, 12*time.Minute, name, "works"), func() {
		r.trace("the work of %s is done", name)
		gang.count = 0
		r.replicate()
	})
}

// makeGang makes a PodGroup and its pods.
func (r *Run) makeGang(gang *workload) {
	_, err := r.store.Create(apiserver.PodGroups, map[string]any{
		"metadata": map[string]any{"name": gang.name, "namespace": metav1.NamespaceDefault},
		"spec":     map[string]any{"minMember": gang.count},
	})
	if err != nil {
		r.violate("a PodGroup cannot be made: %v", err)
		return
	}
	r.workloads = append(r.workloads, gang)
	r.replicate()
}

// waitsForOthers reports whether the scheduler holds the pod back, because its gang has no room as
// a whole. Pods that run count.
func (r *Run) waitsForOthers(pod *corev1.Pod, nodes []*corev1.Node, rooms map[string]*room, pods []*corev1.Pod) bool {
	name := pod.Labels[api.PodGroupLabelKey]
	object := r.store.Get(apiserver.PodGroups, pod.Namespace, name)
	if name == "" || object == nil {
		return false
	}
	group, _ := object.Typed.(*api.PodGroup)
	left := map[string]*room{}
	for node, has := range rooms {
		copied := *has
		left[node] = &copied
	}
	placed := 0
	for _, member := range pods {
		if member.Labels[api.PodGroupLabelKey] != name || member.DeletionTimestamp != nil {
			continue
		}
		if member.Spec.NodeName != "" {
			placed++
		} else if chosen := r.choose(member, nodes, left, nil, nil); chosen != nil {
			left[chosen.Name].take(member)
			placed++
		}
	}
	return placed < int(group.Spec.MinMember)
}

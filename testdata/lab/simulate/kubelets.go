package simulate

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/testdata/lab/kubelet"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

// kubeletSees lets the kubelet of a pod's node see that the pod has changed, or has gone. A kubelet
// that is cut off sees nothing, and what it stops stays in the API.
func (r *Run) kubeletSees(pod *corev1.Pod, gone bool) {
	m := r.hosts[pod.Spec.NodeName]
	switch {
	case m == nil || m.off || m.cut:
	case gone:
		r.lose(m, pod.UID)
	default:
		r.look(m, pod)
	}
}

// A kubelet sees a change of its Node by a watch, so that a pod may overtake it. The scheduler sees the same change
// no sooner.
const soonestSeen, latestSeen = time.Millisecond, 19 * time.Millisecond

// kubeletSeesNode lets the kubelet of a Node see a little later that it has changed, or has gone.
func (r *Run) kubeletSeesNode(node *corev1.Node, gone bool) {
	m := r.hosts[node.Name]
	if m == nil {
		return
	}
	lag := r.engine.Between(soonestSeen, latestSeen, node.Name, node.ResourceVersion, "seen")
	r.engine.In(lag, func() {
		switch {
		case m.off || m.cut:
		case gone:
			m.sees = nil
		default:
			r.showNode(m)
		}
	})
}

// showNode tells the kubelet what its Node is now.
func (r *Run) showNode(m *machine) {
	if object := r.store.Get(apiserver.Nodes, "", m.instance.PrivateDNSName); object != nil {
		m.sees, _ = object.Typed.(*corev1.Node)
	}
}

// look lets the kubelet look at a pod, and does what it decides.
func (r *Run) look(m *machine, pod *corev1.Pod) {
	if m.sees == nil {
		r.showNode(m)
	}
	node := m.sees
	if node == nil {
		node = r.node(m) // as it was registered
	}
	uid := string(pod.UID)
	verdict := m.kubelet.Look(pod, kubelet.Moment{
		Now: time.Now(), Node: node, Attached: r.isAttached(pod), Timing: kubelet.Timing{
			Start: r.engine.Between(200*time.Millisecond, 4*time.Second, uid, "starts"),
			Stop:  r.engine.Between(100*time.Millisecond, time.Second, uid, "stops"),
		},
	})
	m.mount(pod.UID, volumeOf(pod), verdict.Mounted)
	if verdict.Gone {
		r.store.Remove(apiserver.Pods, pod.Namespace, pod.Name, pod.UID)
		return
	}
	if status := verdict.Status; status != nil {
		if status.Reason != "" {
			r.trace("the kubelet of %s rejects pod %s: %s", m.instance.ID, pod.Name, status.Message)
			if r.bound[pod.UID] {
				r.breaks("admitted", "pod %s was bound by a function, and its kubelet rejects it: %s", pod.Name, status.Message)
			}
		}
		apiserver.Update(r.store, apiserver.Pods, pod.Namespace, pod.Name, func(stored *corev1.Pod) bool {
			kubelet.Merge(&stored.Status, status)
			return true
		})
	}
	r.lookAgain(m, pod.UID, verdict.Again, func() {
		if object := r.store.Get(apiserver.Pods, pod.Namespace, pod.Name); object != nil {
			if now, ok := object.Typed.(*corev1.Pod); ok && now.UID == pod.UID {
				r.look(m, now)
			}
		}
	})
}

// lose lets the kubelet end a pod that has gone from the API.
func (r *Run) lose(m *machine, uid types.UID) {
	verdict := m.kubelet.Lose(uid, time.Now())
	if !verdict.Mounted {
		delete(m.mounts, uid)
	}
	r.lookAgain(m, uid, verdict.Again, func() { r.lose(m, uid) })
}

// lookAgain lets the kubelet look at a pod at a time, which is zero for not again. Of several times
// only the first one counts, because each look says when the next one is due.
func (r *Run) lookAgain(m *machine, uid types.UID, at time.Time, look func()) {
	if planned, has := m.looks[uid]; at.IsZero() || has && !at.Before(planned) && planned.After(time.Now()) {
		return
	}
	m.looks[uid] = at
	r.engine.At(at, func() {
		if !m.looks[uid].Equal(at) {
			return
		}
		delete(m.looks, uid)
		if !m.off && !m.cut {
			look()
		}
	})
}

// reconcile lets a kubelet that was cut off see what has changed meanwhile.
func (r *Run) reconcile(m *machine) {
	r.showNode(m)
	present := map[types.UID]bool{}
	for _, pod := range apiserver.List[corev1.Pod](r.store, apiserver.Pods) {
		if pod.Spec.NodeName == m.instance.PrivateDNSName {
			present[pod.UID] = true
			r.look(m, pod)
		}
	}
	for _, uid := range m.kubelet.Pods() {
		if !present[uid] {
			r.lose(m, uid)
		}
	}
}

// mount notes whether a pod has its persistent volume in use.
func (m *machine) mount(uid types.UID, volume string, mounted bool) {
	if _, known := m.mounts[uid]; mounted && !known && volume != "" {
		m.mounts[uid] = volume
	} else if !mounted {
		delete(m.mounts, uid)
	}
}

// unplug takes a volume from the machine, whose pods keep what is left of it.
func (m *machine) unplug(volume string) {
	for uid, mounted := range m.mounts {
		if mounted == volume {
			m.mounts[uid] = ""
		}
	}
}

// mounted are the persistent volumes that pods on the machine have in use.
func (m *machine) mounted() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Values(m.mounts)), func(volume string) bool { return volume == "" })
}

package simulate

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/infra/local/simulate/apiserver"
)

// partition lets the kubelets of some machines lose the way to the API servers for a while. Their
// pods run on, and nobody in the cluster can tell them from those of a machine that has failed.
func (r *Run) partition(m *machine) {
	id := m.instance.ID
	if !r.weather.happens(r.weather.cut, "kubelet-cut", id) {
		return
	}
	r.engine.In(r.engine.Between(time.Second, 6*time.Minute, id, "is cut"), func() {
		if m.off || !r.weather.bad() {
			return
		}
		r.trace("the kubelet of %s loses the way to the API servers", id)
		m.cut = true
		r.engine.In(r.engine.Between(20*time.Second, 9*time.Minute, id, "is cut for"), func() { r.reconnect(m) })
	})
}

// reconnect lets a kubelet that was cut off see what has changed. It stops the pods that the API
// servers know no more, and treats the others as if it saw them for the first time.
func (r *Run) reconnect(m *machine) {
	if m.off {
		return
	}
	r.trace("the kubelet of %s finds the way again", m.instance.ID)
	m.cut, m.returned = false, time.Now()
	r.renew(m)
	r.reportReady(m)
	pods := apiserver.List[corev1.Pod](r.store, apiserver.Pods)
	for uid := range m.pods {
		if !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.UID == uid }) {
			delete(m.pods, uid)
		}
	}
	mounted := map[string]bool{}
	for _, pod := range pods {
		if pod.Spec.NodeName == m.instance.PrivateDNSName {
			mounted[volumeOf(pod)] = true
			r.kubeletSees(pod)
		}
	}
	for volume := range m.mounts {
		if !mounted[volume] {
			delete(m.mounts, volume)
		}
	}
}

package simulate

import "time"

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
// servers know no more.
func (r *Run) reconnect(m *machine) {
	if m.off {
		return
	}
	r.trace("the kubelet of %s finds the way again", m.instance.ID)
	m.cut, m.returned = false, time.Now()
	r.renew(m)
	r.reportReady(m)
	r.reconcile(m)
}

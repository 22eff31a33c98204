package simulate

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/testdata/lab/draw"
	"github.com/whittle-dev/whittle/testdata/lab/kubelet"
)

// manners are how the containers of a workload begin and end.
type manners struct {
	stop     time.Duration // the longest that a container takes after SIGTERM
	stubborn bool          // it ignores SIGTERM
	hook     int64         // the seconds that its preStop hook sleeps; 0 for no hook
	ready    time.Duration // until its readiness probe succeeds; 0 for no probe
	image    string        // its size; empty for one that every machine has
	first    time.Duration // what an init container takes; 0 for none
	sidecar  bool
}

// mannersOf draws the manners of a workload with a grace period in seconds.
func (r *Run) mannersOf(name string, grace int64) manners {
	e := r.engine
	m := manners{stop: e.Between(time.Second, 40*time.Second, name, "stop")}
	m.stubborn = e.Chance(0.15, name, "ignores SIGTERM")
	if e.Chance(0.3, name, "hook") {
		m.hook = int64(e.Number(1, int(grace)*3/2+1, name, "hook", "seconds"))
	}
	if e.Chance(0.3, name, "probe") {
		m.ready = e.Between(time.Second, 30*time.Second, name, "ready")
	}
	if e.Chance(0.3, name, "image") {
		m.image = fmt.Sprintf("%dMi", e.Number(1, 20, name, "image", "size")*64)
	}
	if e.Chance(0.2, name, "init container") {
		m.first = e.Between(time.Second, 15*time.Second, name, "init container", "takes")
	}
	m.sidecar = e.Chance(0.2, name, "sidecar")
	return m
}

// apply gives the manners to a pod whose main container is its only one.
func (m *manners) apply(pod *corev1.Pod) {
	switch {
	case m.stubborn:
		pod.Annotations[kubelet.StopFor] = kubelet.Never
	case m.stop > 0:
		pod.Annotations[kubelet.StopFor] = draw.Between(0, 100*time.Millisecond, m.stop, pod.Name, "stops").String()
	}
	main := &pod.Spec.Containers[0]
	if m.hook > 0 {
		main.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: m.hook}}}
	}
	if m.ready > 0 {
		pod.Annotations[kubelet.ReadyAfter] = m.ready.String()
		main.ReadinessProbe = &corev1.Probe{PeriodSeconds: 5}
	}
	if m.image != "" {
		main.Image = pod.Labels["app"]
		pod.Annotations[kubelet.ImageSize] = m.image
	}
	if m.first > 0 {
		pod.Annotations[kubelet.RunFor+".first"] = m.first.String()
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Name: "first", Image: "pause"})
	}
	if always := corev1.ContainerRestartPolicyAlways; m.sidecar {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers,
			corev1.Container{Name: "beside", Image: "pause", RestartPolicy: &always})
	}
}

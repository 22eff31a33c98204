package kubelet_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/testdata/lab/kubelet"
)

// began is the time of each test's first look.
var began = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

const second = time.Second

// node is a node with 4 CPUs, 8 GiB, 3 pods and 2 GPUs.
func node() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "one", Labels: map[string]string{"disk": "fast"}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
			corev1.ResourcePods: resource.MustParse("3"), corev1.ResourceEphemeralStorage: resource.MustParse("20Gi"),
			"nvidia.com/gpu": resource.MustParse("2"), "hugepages-2Mi": resource.MustParse("0"),
		}},
	}
}

// pod is a pod with one container, which stops a second after SIGTERM.
func pod(name string, changes ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Namespace: "default"}}
	p.Spec.Containers = []corev1.Container{{Name: "main", Image: "app"}}
	for _, change := range changes {
		change(p)
	}
	return p
}

// annotated adds annotations, without the laboratory's prefix.
func annotated(pairs ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		for i := 0; i < len(pairs); i += 2 {
			p.Annotations["local.whittle.dev/"+pairs[i]] = pairs[i+1]
		}
	}
}

func policy(is corev1.RestartPolicy) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.RestartPolicy = is }
}

func grace(seconds int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = &seconds }
}

// initially adds an init container. A name that begins with "side" makes it a sidecar.
func initially(name string, changes ...func(*corev1.Container)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		c := corev1.Container{Name: name, Image: "app"}
		if always := corev1.ContainerRestartPolicyAlways; strings.HasPrefix(name, "side") {
			c.RestartPolicy = &always
		}
		for _, change := range changes {
			change(&c)
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
}

// with changes the pod's container.
func with(change func(*corev1.Container)) func(*corev1.Pod) {
	return func(p *corev1.Pod) { change(&p.Spec.Containers[0]) }
}

func hook(command ...string) func(*corev1.Container) {
	return func(c *corev1.Container) {
		c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: command}}}
	}
}

func sleep(seconds int64) func(*corev1.Container) {
	return func(c *corev1.Container) {
		c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: seconds}}}
	}
}

// act is something that happens to the pod in the API.
type act struct {
	at time.Duration
	do func(*corev1.Pod)
}

// deleted is the pod's deletion with a grace in seconds.
func deleted(at time.Duration, seconds int64) act {
	return act{at, func(p *corev1.Pod) {
		when := metav1.NewTime(began.Add(at + time.Duration(seconds)*second))
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &when, &seconds
	}}
}

// story is what the kubelet writes about the pod until the time, one line for each status, and when
// it is gone. It looks when the last verdict says so, and after each act. The network takes a
// second.
func story(k *kubelet.Kubelet, p *corev1.Pod, until time.Duration, acts ...act) []string {
	var told []string
	for now := time.Duration(0); now <= until; {
		for len(acts) > 0 && acts[0].at <= now {
			p = p.DeepCopy()
			acts[0].do(p)
			acts = acts[1:]
		}
		v := k.Look(p, moment(now))
		if v.Status != nil {
			p = p.DeepCopy()
			kubelet.Merge(&p.Status, v.Status)
			told = append(told, fmt.Sprintf("%s %s", now, said(p)))
		}
		if v.Gone {
			return append(told, fmt.Sprintf("%s gone", now))
		}
		next := until + 1
		if !v.Again.IsZero() {
			next = v.Again.Sub(began)
		}
		if len(acts) > 0 && acts[0].at < next {
			next = acts[0].at
		}
		if next <= now {
			return append(told, fmt.Sprintf("%s: look again at %s", now, next))
		}
		now = next
	}
	return told
}

func moment(now time.Duration) kubelet.Moment {
	return kubelet.Moment{
		Now: began.Add(now), Node: node(), Attached: true, Timing: kubelet.Timing{Start: second, Stop: second},
	}
}

// said is a pod's status in short: the phase, "ready", and its containers.
func said(p *corev1.Pod) string {
	words := []string{string(p.Status.Phase)}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			words = append(words, "ready")
		}
	}
	if p.Status.Reason != "" {
		words = append(words, p.Status.Reason)
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		word := c.Name + ":"
		switch {
		case c.State.Running != nil:
			word += "runs"
		case c.State.Terminated != nil:
			word += fmt.Sprint("exit", c.State.Terminated.ExitCode)
		default:
			word += c.State.Waiting.Reason
		}
		if c.RestartCount > 0 {
			word += fmt.Sprint("#", c.RestartCount)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// compare fails the test where the story is another one.
func compare(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

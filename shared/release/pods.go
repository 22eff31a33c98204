package release

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// startsWithin is how long a pod may take to be ready on its node, which may have to pull a large image. It
	// is the time of a Deployment by default.
	startsWithin = 10 * time.Minute
	// restarts is the number from which on a container that restarted lately does not stay up.
	restarts = 3
	// lately is the age up to which a restart counts. A node that runs for months has seen some.
	lately = 30 * time.Minute
)

// trouble says why the pod does not work on its node, or nothing. One that is not ready has its
// patience. Pods that end count for nothing.
func trouble(pod *corev1.Pod, patience time.Duration, now time.Time) string {
	if scheduling.IsTerminal(pod) || scheduling.IsStatic(pod) || pod.DeletionTimestamp != nil {
		return ""
	}
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if why := fails(&container, now); why != "" {
			return why
		}
	}
	if began := unreadySince(pod); !began.IsZero() && now.Sub(began) >= patience {
		return "is not ready"
	}
	return ""
}

// fails says why the container does not stay up, or nothing. An image or a configuration that is
// missing is the pod's own fault.
func fails(container *corev1.ContainerStatus, now time.Time) string {
	if waiting := container.State.Waiting; waiting != nil {
		switch waiting.Reason {
		case "CrashLoopBackOff", "RunContainerError", "CreateContainerError":
			return "is in " + waiting.Reason
		}
	}
	ended := container.LastTerminationState.Terminated
	if container.RestartCount >= restarts && ended != nil && now.Sub(ended.FinishedAt.Time) < lately {
		return fmt.Sprintf("restarted %d times", container.RestartCount)
	}
	return ""
}

// unreadySince is since when the pod on its node is not ready, or zero for a ready one.
func unreadySince(pod *corev1.Pod) time.Time {
	var began time.Time
	for _, is := range pod.Status.Conditions {
		switch {
		case is.Type == corev1.PodReady && is.Status == corev1.ConditionTrue:
			return time.Time{}
		case is.Type == corev1.PodReady || is.Type == corev1.PodScheduled && is.Status == corev1.ConditionTrue:
			if at := is.LastTransitionTime.Time; at.After(began) {
				began = at
			}
		}
	}
	return began
}

// workloads compares the pods of nodes by what controls them.
type workloads struct {
	patience time.Duration
	now      time.Time
	// before has how the pods of each controller do on the nodes before, and all is their sum.
	before map[types.UID]tally
	all    tally
}

// tally counts pods, and those in trouble.
type tally struct{ pods, troubled int }

func (t tally) add(troubled bool) tally {
	t.pods++
	if troubled {
		t.troubled++
	}
	return t
}

func workloadsOf(before []Node, patience time.Duration, now time.Time) *workloads {
	w := &workloads{patience: patience, now: now, before: map[types.UID]tally{}}
	for i := range before {
		for _, pod := range before[i].Pods {
			troubled := trouble(pod, patience, now) != ""
			w.all = w.all.add(troubled)
			if owner := controllerOf(pod); owner != "" {
				w.before[owner] = w.before[owner].add(troubled)
			}
		}
	}
	return w
}

func controllerOf(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return owner.UID
	}
	return ""
}

// worse says which pod does worse on the node than on the nodes before, or nothing. A pod counts
// where its controller's pods on the nodes before are well. Pods with none there are compared with
// all: half of them must be in trouble, and a greater part than of all pods before.
func (w *workloads) worse(node *Node) string {
	var alone tally
	var first string
	for _, pod := range node.Pods {
		why := trouble(pod, w.patience, w.now)
		said := fmt.Sprintf("its pod %s/%s %s", pod.Namespace, pod.Name, why)
		same := w.before[controllerOf(pod)]
		switch {
		case same.pods > 0 && same.troubled == 0 && why != "":
			return said + ", and others of its controller on the nodes before do not"
		case same.pods == 0:
			if alone = alone.add(why != ""); why != "" && first == "" {
				first = said
			}
		}
	}
	worse := w.all.pods == 0 || alone.troubled*w.all.pods > w.all.troubled*alone.pods
	if alone.troubled > 0 && 2*alone.troubled >= alone.pods && worse {
		return first
	}
	return ""
}

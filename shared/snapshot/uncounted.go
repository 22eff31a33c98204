package snapshot

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// controllerTime is how long the controller of DaemonSets may take to create pods for a node or a
	// DaemonSet that is new.
	controllerTime = 2 * time.Minute
	// greatestShare is the part of the largest instance type that a DaemonSet outside kube-system may take. With
	// more, hardly a pod fits beside it anywhere.
	greatestShare = 0.9
)

// UncountedDaemonSet is a DaemonSet that takes no room of nodes in a plan.
type UncountedDaemonSet struct {
	Set *appsv1.DaemonSet
	// Message says why, and the remedy.
	Message string
}

// Uncounted returns the DaemonSets that plans leave out. People who may create a DaemonSet in one namespace
// would otherwise raise the price of each node, or stop all launches, with pods that no quota admits. A
// DaemonSet counts as far as its controller could create its pods. One outside kube-system counts only
// where it leaves a tenth of the largest instance type to others. The types are those of the NodePools, and
// nil where no node can be bought.
func Uncounted(o *Objects, types map[string][]catalog.InstanceType, now time.Time) []UncountedDaemonSet {
	most := largest(types)
	young := int32(0)
	for i := range o.Nodes {
		if now.Sub(o.Nodes[i].CreationTimestamp.Time) < controllerTime {
			young++
		}
	}
	var uncounted []UncountedDaemonSet
	for i := range o.DaemonSets {
		set := &o.DaemonSets[i]
		message := refusedPods(set, young, now)
		if message == "" {
			message = takesTooMuch(set, most)
		}
		if message != "" {
			uncounted = append(uncounted, UncountedDaemonSet{Set: set, Message: message})
		}
	}
	return uncounted
}

// refusedPods says that the controller could not create the pods of the DaemonSet on most of the nodes that
// it has had the time for.
func refusedPods(set *appsv1.DaemonSet, young int32, now time.Time) string {
	status := &set.Status
	due := status.DesiredNumberScheduled - young
	if now.Sub(set.CreationTimestamp.Time) < controllerTime || status.ObservedGeneration != set.Generation ||
		due <= 0 || 2*status.CurrentNumberScheduled >= due {
		return ""
	}
	return fmt.Sprintf("the DaemonSet has pods on %d of %d nodes, so that plans keep no room for it: "+
		"see its events for what refuses its pods, such as a quota",
		status.CurrentNumberScheduled, status.DesiredNumberScheduled)
}

// takesTooMuch says that the DaemonSet of an ordinary namespace needs too much of the largest type.
func takesTooMuch(set *appsv1.DaemonSet, most corev1.ResourceList) string {
	if set.Namespace == metav1.NamespaceSystem || len(most) == 0 {
		return ""
	}
	requests := scheduling.DaemonPodRequests(&set.Spec.Template)
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		need, has := requests[name], most[name]
		if need.AsApproximateFloat64() > greatestShare*has.AsApproximateFloat64() {
			return fmt.Sprintf("a pod of the DaemonSet requests %s of %s, nearly all of the %s that the largest "+
				"instance type has, so that plans keep no room for it: lower its requests, or move it to kube-system",
				need.String(), name, has.String())
		}
	}
	return ""
}

// largest are the most processors and the most memory that pods may use of an instance type.
func largest(types map[string][]catalog.InstanceType) corev1.ResourceList {
	most := corev1.ResourceList{}
	for _, list := range types {
		for i := range list {
			for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
				quantity := list[i].Allocatable[name]
				if present, ok := most[name]; !ok || present.Cmp(quantity) < 0 {
					most[name] = quantity
				}
			}
		}
	}
	return most
}

// counted are the DaemonSets without the uncounted ones.
func counted(o *Objects, types map[string][]catalog.InstanceType, now time.Time) []appsv1.DaemonSet {
	without := Uncounted(o, types, now)
	if len(without) == 0 {
		return daemonSets(o)
	}
	some := *o
	some.DaemonSets = nil
	for i := range o.DaemonSets {
		set := &o.DaemonSets[i]
		if !slices.ContainsFunc(without, func(u UncountedDaemonSet) bool { return u.Set == set }) {
			some.DaemonSets = append(some.DaemonSets, *set)
		}
	}
	return daemonSets(&some)
}

package offering

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	appsv1 "k8s.io/api/apps/v1"

	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// DaemonSet is a DaemonSet: what its pod on each node takes, and on which nodes it runs.
type DaemonSet struct {
	object       *appsv1.DaemonSet
	requests     corev1.ResourceList
	Need         resource.Vector
	Alternatives []scheduling.Requirements
	Tolerations  []corev1.Toleration
	Ports        []workload.HostPort
}

// ReadDaemonSets leaves out a DaemonSet whose node affinity cannot be read: Kubernetes runs none of
// its pods either.
func ReadDaemonSets(sets []appsv1.DaemonSet, axes *resource.Axes) []*DaemonSet {
	var daemons []*DaemonSet
	for i := range sets {
		template := &sets[i].Spec.Template
		alternatives, err := workload.NodeAlternatives(&template.Spec)
		if err != nil || sets[i].DeletionTimestamp != nil {
			continue
		}
		d := &DaemonSet{
			object: &sets[i], requests: scheduling.DaemonPodRequests(template), Alternatives: alternatives,
			Ports:       workload.HostPorts(&template.Spec),
			Tolerations: slices.Concat(template.Spec.Tolerations, scheduling.DaemonSetTolerations()),
		}
		d.Need = axes.Requests(d.requests)
		daemons = append(daemons, d)
	}
	return daemons
}

// daemonSetsOf are the daemons that the pool's taints and labels let in; the instance type may still
// keep some out.
func daemonSetsOf(daemons []*DaemonSet, pool *Pool) []*DaemonSet {
	var result []*DaemonSet
	for _, d := range daemons {
		if scheduling.ToleratesAll(pool.NodePool.Spec.Template.Spec.Taints, d.Tolerations) &&
			slices.ContainsFunc(d.Alternatives, func(a scheduling.Requirements) bool {
				return pool.Requirements.IsCompatible(a, scheduling.UndefinedWellKnownIsAny)
			}) {
			result = append(result, d)
		}
	}
	return result
}

// runsAnywhere reports whether the daemon asks for nothing that tells nodes of a pool apart.
func (d *DaemonSet) runsAnywhere() bool {
	return slices.ContainsFunc(d.Alternatives, func(a scheduling.Requirements) bool { return len(a) == 0 })
}

// runsOn reports whether the daemon runs on the pool's nodes of a type that are bought through an
// offering.
func (d *DaemonSet) runsOn(pool *Pool, typ *catalog.InstanceType, offering *catalog.Offering) bool {
	return slices.ContainsFunc(d.Alternatives, func(a scheduling.Requirements) bool {
		if !offering.AllowedBy(a) {
			return false
		}
		for key, want := range a {
			have, ok := pool.Requirements[key]
			if ofType, typed := typ.Requirements[key]; typed {
				if ok {
					ofType = ofType.Intersection(have)
				}
				have, ok = ofType, true
			}
			if ok && !have.Intersects(want) || !ok && !want.AllowsAbsent() {
				return false
			}
		}
		return true
	})
}

// HasPod reports whether one of the pods is the daemon's.
func (d *DaemonSet) HasPod(pods []corev1.Pod) bool {
	for i := range pods {
		if pods[i].Namespace == d.object.Namespace &&
			slices.ContainsFunc(pods[i].OwnerReferences, func(o metav1.OwnerReference) bool {
				return o.Kind == "DaemonSet" && o.Name == d.object.Name && (d.object.UID == "" || o.UID == d.object.UID)
			}) {
			return true
		}
	}
	return false
}

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

// Daemon is a DaemonSet: what its pod on each node takes, and on which nodes it runs.
type Daemon struct {
	set          *appsv1.DaemonSet
	requests     corev1.ResourceList
	Need         resource.Vector
	Alternatives []scheduling.Requirements
	Tolerations  []corev1.Toleration
	Ports        []workload.HostPort
}

// ReadDaemons leaves out a DaemonSet whose node affinity cannot be read: Kubernetes runs none of
// its pods either.
func ReadDaemons(sets []appsv1.DaemonSet, axes *resource.Axes) []*Daemon {
	var daemons []*Daemon
	for i := range sets {
		template := &sets[i].Spec.Template
		alternatives, err := workload.NodeAlternatives(&template.Spec)
		if err != nil || sets[i].DeletionTimestamp != nil {
			continue
		}
		d := &Daemon{
			set: &sets[i], requests: scheduling.DaemonPodRequests(template), Alternatives: alternatives,
			Ports:       workload.HostPorts(&template.Spec),
			Tolerations: slices.Concat(template.Spec.Tolerations, scheduling.DaemonSetTolerations()),
		}
		d.Need = axes.Requests(d.requests)
		daemons = append(daemons, d)
	}
	return daemons
}

// daemonsOf are the daemons that the pool's taints and labels let in; the instance type may still
// keep some out.
func daemonsOf(daemons []*Daemon, pool *Pool) []*Daemon {
	var result []*Daemon
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
func (d *Daemon) runsAnywhere() bool {
	return slices.ContainsFunc(d.Alternatives, func(a scheduling.Requirements) bool { return len(a) == 0 })
}

// runsOn reports whether the daemon runs on the pool's nodes of a type that are bought through an
// offering.
func (d *Daemon) runsOn(pool *Pool, typ *catalog.InstanceType, offering *catalog.Offering) bool {
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
func (d *Daemon) HasPod(pods []corev1.Pod) bool {
	for i := range pods {
		if pods[i].Namespace == d.set.Namespace &&
			slices.ContainsFunc(pods[i].OwnerReferences, func(o metav1.OwnerReference) bool {
				return o.Kind == "DaemonSet" && o.Name == d.set.Name && (d.set.UID == "" || o.UID == d.set.UID)
			}) {
			return true
		}
	}
	return false
}

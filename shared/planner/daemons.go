package planner

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// daemon is a DaemonSet: what its pod on each node takes, and on which nodes it runs.
type daemon struct {
	set          *appsv1.DaemonSet
	requests     corev1.ResourceList
	need         vector
	alternatives []scheduling.Requirements
	tolerations  []corev1.Toleration
	ports        []hostPort
}

// readDaemons leaves out a DaemonSet whose node affinity cannot be read: Kubernetes runs none of its pods either.
func readDaemons(sets []appsv1.DaemonSet, axes *axes) []*daemon {
	var daemons []*daemon
	for i := range sets {
		template := &sets[i].Spec.Template
		alternatives, err := nodeAlternatives(&template.Spec)
		if err != nil || sets[i].DeletionTimestamp != nil {
			continue
		}
		d := &daemon{
			set: &sets[i], requests: scheduling.DaemonPodRequests(template), alternatives: alternatives, ports: hostPorts(&template.Spec),
			tolerations: slices.Concat(template.Spec.Tolerations, scheduling.DaemonSetTolerations()),
		}
		d.need = axes.requests(d.requests)
		daemons = append(daemons, d)
	}
	return daemons
}

// daemonsOf are the daemons that the pool's taints and labels let in; the instance type may still keep some out.
func daemonsOf(daemons []*daemon, pool *pool) []*daemon {
	var result []*daemon
	for _, d := range daemons {
		if scheduling.ToleratesAll(pool.api.Spec.Template.Spec.Taints, d.tolerations) &&
			slices.ContainsFunc(d.alternatives, func(a scheduling.Requirements) bool {
				return pool.requirements.IsCompatible(a, scheduling.UndefinedWellKnownIsAny)
			}) {
			result = append(result, d)
		}
	}
	return result
}

// runsAnywhere reports whether the daemon asks for nothing that tells nodes of a pool apart.
func (d *daemon) runsAnywhere() bool {
	return slices.ContainsFunc(d.alternatives, func(a scheduling.Requirements) bool { return len(a) == 0 })
}

// runsOn reports whether the daemon runs on the pool's nodes of a type that are bought through an offering.
func (d *daemon) runsOn(pool *pool, typ *catalog.InstanceType, offering *catalog.Offering) bool {
	return slices.ContainsFunc(d.alternatives, func(a scheduling.Requirements) bool {
		if !offering.AllowedBy(a) {
			return false
		}
		for key, want := range a {
			have, ok := pool.requirements[key]
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

// hasPod reports whether one of the pods is the daemon's.
func (d *daemon) hasPod(pods []corev1.Pod) bool {
	for i := range pods {
		if pods[i].Namespace == d.set.Namespace && slices.ContainsFunc(pods[i].OwnerReferences, func(o metav1.OwnerReference) bool {
			return o.Kind == "DaemonSet" && o.Name == d.set.Name && (d.set.UID == "" || o.UID == d.set.UID)
		}) {
			return true
		}
	}
	return false
}

package offering

import (
	"slices"

	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	appsv1 "k8s.io/api/apps/v1"

	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// DaemonSet says what a DaemonSet's pod takes of each node, and on which nodes one runs.
type DaemonSet struct {
	object *appsv1.DaemonSet
	// Index is its place in the snapshot.
	Index    int
	requests corev1.ResourceList
	// Need is what a pod requests, along the planner's resource axes.
	Need resource.Vector
	// Alternatives are the label requirements of which a node has to meet one. Starting are those of
	// nodes that are new or in flight, which will be registered and initialized.
	Alternatives, Starting []scheduling.Requirements
	Tolerations            []corev1.Toleration
	Ports                  []workload.HostPort
}

// ReadDaemonSets reads the DaemonSets that run pods on new nodes. It skips those being deleted, and
// those whose node affinity is invalid, since Kubernetes runs none of their pods either.
func ReadDaemonSets(objects []appsv1.DaemonSet, axes *resource.Axes) []*DaemonSet {
	var result []*DaemonSet
	for i := range objects {
		template := &objects[i].Spec.Template
		alternatives, err := workload.NodeAlternatives(&template.Spec)
		if err != nil || objects[i].DeletionTimestamp != nil {
			continue
		}
		d := &DaemonSet{
			object: &objects[i], Index: i, requests: scheduling.DaemonPodRequests(template), Alternatives: alternatives,
			Starting: onceStarted(alternatives), Ports: workload.HostPorts(&template.Spec),
			Tolerations: slices.Concat(template.Spec.Tolerations, scheduling.DaemonSetTolerations()),
		}
		d.Need = axes.Requests(d.requests)
		result = append(result, d)
	}
	return result
}

// onceStarted resolves the labels that each node of Whittle gets when it has started. A requirement
// that they meet goes. An alternative that they do not meet goes as a whole.
func onceStarted(alternatives []scheduling.Requirements) []scheduling.Requirements {
	started := make([]scheduling.Requirements, 0, len(alternatives))
	for _, alternative := range alternatives {
		meets := true
		for _, key := range []string{api.NodeRegisteredLabelKey, api.NodeInitializedLabelKey} {
			wanted, ok := alternative[key]
			if !ok {
				continue
			}
			meets = meets && wanted.Has("true")
			alternative = alternative.Clone()
			delete(alternative, key)
		}
		if meets {
			started = append(started, alternative)
		}
	}
	return started
}

// daemonSetsOf are the DaemonSets that the pool's taints and labels allow. They may not run on some
// of its instance types.
func daemonSetsOf(all []*DaemonSet, pool *Pool, undefined scheduling.Undefined) []*DaemonSet {
	var result []*DaemonSet
	for _, d := range all {
		if scheduling.ToleratesAll(pool.NodePool.Spec.Template.Spec.Taints, d.Tolerations) &&
			slices.ContainsFunc(d.Starting, func(a scheduling.Requirements) bool {
				return pool.Requirements.IsCompatible(a, undefined)
			}) {
			result = append(result, d)
		}
	}
	return result
}

// runsAnywhere reports whether the DaemonSet runs on all nodes of a pool that allows it.
func (d *DaemonSet) runsAnywhere() bool {
	return slices.ContainsFunc(d.Starting, func(a scheduling.Requirements) bool { return len(a) == 0 })
}

// runsOn reports whether the DaemonSet runs on the pool's nodes of a type and an offering of it.
func (d *DaemonSet) runsOn(pool *Pool, typ *catalog.InstanceType, offering *catalog.Offering) bool {
	return slices.ContainsFunc(d.Starting, func(a scheduling.Requirements) bool {
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

// HasPod reports whether one of the pods belongs to the DaemonSet.
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

// daemonSetSums has the DaemonSets of the cluster, and counts their sums over all pools.
type daemonSetSums struct {
	all   []*DaemonSet
	count int
}

// daemonSetSum is what DaemonSets that run on the same nodes take together.
type daemonSetSum struct {
	// id is unique among all pools, and at least one.
	id       int
	requests corev1.ResourceList
	need     resource.Vector
	ports    []workload.HostPort
	parts    []*DaemonSet
	sets     []int // their places in the snapshot
}

// of adds up the DaemonSets that run. running has one byte for each of them: 1 if it runs.
func (s *daemonSetSums) of(daemonSets []*DaemonSet, running []byte, axes *resource.Axes) *daemonSetSum {
	s.count++
	sum := &daemonSetSum{id: s.count, requests: corev1.ResourceList{}, need: make(resource.Vector, len(axes.Names))}
	for i, d := range daemonSets {
		if running[i] == 1 {
			resource.AddLists(sum.requests, d.requests)
			sum.need.Add(d.Need, 1)
			sum.ports = append(sum.ports, d.Ports...)
			sum.parts = append(sum.parts, d)
			sum.sets = append(sum.sets, d.Index)
		}
	}
	return sum
}

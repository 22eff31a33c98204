package kubelet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	podresource "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// refusal is why the kubelet rejects a pod, in its words; the zero value admits it.
type refusal struct{ reason, message string }

// port is a port of the host that a pod has.
type port struct {
	ip       string
	protocol corev1.Protocol
	number   int32
}

// demand is what a pod has of its node.
type demand struct {
	// amounts are thousandths for cpu, and whole numbers for the others.
	amounts map[corev1.ResourceName]int64
	ports   []port
}

func demandOf(pod *corev1.Pod) demand {
	d := demand{amounts: map[corev1.ResourceName]int64{}}
	requests := podresource.PodRequests(pod, podresource.PodResourcesOptions{})
	for name := range requests {
		d.amounts[name] = amountOf(requests, name)
	}
	for i := range pod.Spec.InitContainers {
		if isSidecar(&pod.Spec.InitContainers[i]) {
			d.open(&pod.Spec.InitContainers[i])
		}
	}
	for i := range pod.Spec.Containers {
		d.open(&pod.Spec.Containers[i])
	}
	return d
}

func amountOf(list corev1.ResourceList, name corev1.ResourceName) int64 {
	quantity := list[name]
	if name == corev1.ResourceCPU {
		return quantity.MilliValue()
	}
	return quantity.Value()
}

// open adds the ports that the container has of its host.
func (d *demand) open(c *corev1.Container) {
	for _, p := range c.Ports {
		if p.HostPort > 0 {
			d.ports = append(d.ports, port{p.HostIP, cmp.Or(p.Protocol, corev1.ProtocolTCP), p.HostPort})
		}
	}
}

// conflicts reports whether two pods cannot both have their port.
func (p port) conflicts(other port) bool {
	anywhere := func(ip string) bool { return ip == "" || ip == "0.0.0.0" }
	return p.number == other.number && p.protocol == other.protocol &&
		(p.ip == other.ip || anywhere(p.ip) || anywhere(other.ip))
}

// room is a node and what its pods have of it.
type room struct {
	node   *corev1.Node
	others []demand
}

func (r *room) used(name corev1.ResourceName) (sum int64) {
	for i := range r.others {
		sum += r.others[i].amounts[name]
	}
	return sum
}

// refuses returns why the kubelet rejects the pod. It looks at the devices first, then at the
// node's other resources, and at the place last.
func (r *room) refuses(pod *corev1.Pod, wants demand) refusal {
	native := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage}
	var devices, more []corev1.ResourceName
	for _, name := range slices.Sorted(maps.Keys(wants.amounts)) {
		switch {
		case isExtended(name):
			devices = append(devices, name)
		case !slices.Contains(native, name):
			more = append(more, name)
		}
	}
	for _, name := range devices {
		if why := r.lacks(name, wants.amounts[name]); why != "" {
			return refusal{"UnexpectedAdmissionError", "Allocate failed due to " + why + ", which is unexpected"}
		}
	}
	allocatable := r.node.Status.Allocatable
	if count, most := int64(len(r.others)), allocatable.Pods().Value(); count >= most {
		return outOf(corev1.ResourcePods, 1, count, most)
	}
	for _, name := range append(native, more...) {
		wanted, used, has := wants.amounts[name], r.used(name), amountOf(allocatable, name)
		if wanted > 0 && wanted > has-used {
			return outOf(name, wanted, used, has)
		}
	}
	return r.misplaces(pod, wants)
}

func outOf(name corev1.ResourceName, wanted, used, capacity int64) refusal {
	return refusal{"OutOf" + string(name), fmt.Sprintf(
		"Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", name, wanted, used, capacity)}
}

// isExtended reports whether a resource is one that device plugins, or people, add to nodes.
func isExtended(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !strings.Contains(string(name), "kubernetes.io/")
}

// lacks says why the device manager cannot give devices; empty if it can. The kubelet ignores an
// extended resource that the node does not know, because such a resource may be the cluster's.
func (r *room) lacks(name corev1.ResourceName, wanted int64) string {
	_, known := r.node.Status.Allocatable[name]
	has := amountOf(r.node.Status.Allocatable, name)
	switch left := has - r.used(name); {
	case !known || wanted == 0:
		return ""
	case has == 0:
		return fmt.Sprintf("no healthy devices present; cannot allocate unhealthy devices %s", name)
	case wanted > left:
		return fmt.Sprintf("requested number of devices unavailable for %s. Requested: %d, Available: %d", name, wanted, left)
	}
	return ""
}

// misplaces returns the refusals that do not depend on amounts.
func (r *room) misplaces(pod *corev1.Pod, wants demand) refusal {
	failed := func(predicate, why string) refusal {
		return refusal{predicate, "Predicate " + predicate + " failed: " + why}
	}
	if matches, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(r.node); err != nil || !matches {
		return failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
	}
	for i := range r.others {
		for _, taken := range r.others[i].ports {
			if slices.ContainsFunc(wants.ports, taken.conflicts) {
				return failed("NodePorts", "node(s) didn't have free ports for the requested pod ports")
			}
		}
	}
	for i := range r.node.Spec.Taints {
		taint := &r.node.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectNoExecute && !tolerates(pod, taint) {
			return failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")
		}
	}
	return refusal{}
}

func tolerates(pod *corev1.Pod, taint *corev1.Taint) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
		return t.ToleratesTaint(klog.Background(), taint, false)
	})
}

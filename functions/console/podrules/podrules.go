package podrules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/functions/console/document"
)

// Pod is a pod, or the template of one.
type Pod struct {
	Spec *corev1.PodSpec
	// Labels are the pod's own, which its constraints select or miss.
	Labels map[string]string
	// Path is the place of the spec in its document.
	Path document.Path
}

// findings collects problems at fields below one place.
type findings struct {
	Pod
	problems []document.Problem
}

func (f *findings) add(text string, steps ...any) {
	f.problems = append(f.problems, document.Problem{Path: f.Path.With(steps...), Text: text})
}

// Refused returns what an API server refuses, in the order of the fields' kinds.
func Refused(pod Pod) []document.Problem {
	f := &findings{Pod: pod}
	f.resources()
	f.ports()
	f.spread()
	f.affinity()
	f.tolerations()
	return f.problems
}

// container is a container with its place.
type container struct {
	*corev1.Container
	list  string
	index int
}

// containers are the init containers and the containers.
func (f *findings) containers() []container {
	var all []container
	for i := range f.Spec.InitContainers {
		all = append(all, container{&f.Spec.InitContainers[i], "initContainers", i})
	}
	for i := range f.Spec.Containers {
		all = append(all, container{&f.Spec.Containers[i], "containers", i})
	}
	return all
}

// resources checks the amounts of the containers, of the pod and of its overhead.
func (f *findings) resources() {
	for _, c := range f.containers() {
		f.requirements(c.Resources.Requests, c.Resources.Limits, c.list, c.index, "resources")
	}
	f.amounts(f.Spec.Overhead, "overhead")
	whole := f.Spec.Resources
	if whole == nil {
		return
	}
	f.requirements(whole.Requests, whole.Limits, "resources")
	sums := corev1.ResourceList{}
	for i := range f.Spec.Containers {
		for name, amount := range f.Spec.Containers[i].Resources.Requests {
			sum := sums[name]
			sum.Add(amount)
			sums[name] = sum
		}
	}
	for _, name := range slices.Sorted(maps.Keys(whole.Requests)) {
		amount, sum := whole.Requests[name], sums[name]
		if amount.Cmp(sum) < 0 {
			f.add(fmt.Sprintf("%s: is less than the %s that its containers request together", amount.String(), sum.String()),
				"resources", "requests", string(name))
		}
	}
}

// requirements checks requests and limits of one place.
func (f *findings) requirements(requests, limits corev1.ResourceList, steps ...any) {
	at := func(list string, name corev1.ResourceName) []any {
		return append(slices.Clone(steps), list, string(name))
	}
	f.amounts(requests, append(slices.Clone(steps), "requests")...)
	f.amounts(limits, append(slices.Clone(steps), "limits")...)
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		request := requests[name]
		limit, limited := limits[name]
		switch {
		case limited && request.Cmp(limit) > 0:
			f.add(fmt.Sprintf("%s: is more than the limit of %s", request.String(), limit.String()), at("requests", name)...)
		case limited && request.Cmp(limit) < 0 && whole(name):
			f.add(fmt.Sprintf("%s: is not the limit of %s: a device is not shared", request.String(), limit.String()),
				at("requests", name)...)
		case !limited && whole(name):
			f.add(fmt.Sprintf("%s: has no limit: write it under limits, too", request.String()), at("requests", name)...)
		}
	}
}

// amounts checks the amounts of a list.
func (f *findings) amounts(list corev1.ResourceList, steps ...any) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		amount := list[name]
		switch {
		case amount.Sign() < 0:
			f.add(amount.String()+": want zero or more", append(slices.Clone(steps), string(name))...)
		case whole(name) && !isWhole(amount):
			f.add(amount.String()+": want a whole number", append(slices.Clone(steps), string(name))...)
		}
	}
}

// whole reports whether the resource comes in whole units that nobody else gets: a device, or huge
// pages.
func whole(name corev1.ResourceName) bool {
	domain, _, qualified := strings.Cut(string(name), "/")
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) ||
		qualified && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io")
}

func isWhole(amount resource.Quantity) bool { return amount.MilliValue()%1000 == 0 }

// hostPort is a port of the host.
type hostPort struct {
	protocol corev1.Protocol
	address  string
	port     int32
}

// ports checks that the containers of a pod share no host port.
func (f *findings) ports() {
	taken := map[hostPort]bool{}
	for _, c := range f.containers() {
		for j, port := range c.Ports {
			at := hostPort{port.Protocol, port.HostIP, port.HostPort}
			switch {
			case f.Spec.HostNetwork && port.HostPort != 0 && port.HostPort != port.ContainerPort:
				f.add(fmt.Sprintf("%d: with hostNetwork it is the containerPort, %d", port.HostPort, port.ContainerPort),
					c.list, c.index, "ports", j, "hostPort")
			case port.HostPort != 0 && taken[at] && c.list == "containers":
				f.add(fmt.Sprintf("%d: another port of the pod has it", port.HostPort), c.list, c.index, "ports", j, "hostPort")
			}
			taken[at] = c.list == "containers"
		}
	}
}

// tolerations checks that the fields of each go together.
func (f *findings) tolerations() {
	for i, t := range f.Spec.Tolerations {
		switch {
		case t.Key == "" && t.Operator != corev1.TolerationOpExists:
			f.add("is missing: without a key, the operator must be Exists", "tolerations", i, "key")
		case t.Operator == corev1.TolerationOpExists && t.Value != "":
			f.add(fmt.Sprintf("%q: the operator Exists has no value", t.Value), "tolerations", i, "value")
		case t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute:
			f.add("is for the effect NoExecute only", "tolerations", i, "tolerationSeconds")
		}
	}
}

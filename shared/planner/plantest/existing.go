package plantest

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
)

// existingHost reads a node of the snapshot. The Node object describes a node that has registered.
// Its NodeClaim describes any other.
func (c *checker) existingHost(n *plan.Node) *host {
	h := &host{leaving: isLeaving(n), claimed: n.NodeClaim != nil}
	node, claim := n.Node, n.NodeClaim
	registered := node != nil && (claim == nil || node.Labels[api.NodeRegisteredLabelKey] == "true")
	initialized := registered && (claim == nil || node.Labels[api.NodeInitializedLabelKey] == "true")
	if registered {
		h.readNode(node)
	} else {
		h.name = claim.Name
		if node != nil {
			h.name = node.Name
		}
		h.labels, h.taints = labelSet{claim.Labels}, claim.Spec.Taints
		h.allocatable = amountsOf(claim.Status.Allocatable)
	}
	if registered && !initialized {
		h.finishStarting(claim)
	}
	h.starting = !initialized
	// The kubelet sets the hostname. Until then it is unknown, but it differs from all others.
	h.labels = append(h.labels, map[string]string{corev1.LabelHostname: h.name})
	for i := range n.Pods {
		object := &n.Pods[i]
		name := object.Namespace + "/" + object.Name
		if c.waiting[name] == nil && object.Status.Phase != corev1.PodSucceeded && object.Status.Phase != corev1.PodFailed {
			h.staying = append(h.staying, c.newPod(object))
		}
	}
	return h
}

// isLeaving reports whether a node goes away: its NodeClaim is deleted, or its instance terminates.
// For a node without a NodeClaim the Node's deletion counts.
func isLeaving(n *plan.Node) bool {
	if n.NodeClaim == nil {
		return n.Node.DeletionTimestamp != nil
	}
	return n.NodeClaim.DeletionTimestamp != nil ||
		hasCondition(n.NodeClaim.Status.Conditions, api.ConditionTypeInstanceTerminating)
}

// readNode takes name, labels, taints and resources from a Node.
func (h *host) readNode(node *corev1.Node) {
	h.name, h.labels, h.taints = node.Name, labelSet{node.Labels}, node.Spec.Taints
	if node.Spec.Unschedulable {
		cordoned := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
		h.taints = append(slices.Clone(h.taints), cordoned)
	}
	h.allocatable = amountsOf(node.Status.Allocatable)
}

// finishStarting gives a starting node the state that it will have once it is initialized. It loses
// the taints of a starting node and its startup taints, and device plugins report their resources.
func (h *host) finishStarting(claim *api.NodeClaim) {
	h.taints = slices.DeleteFunc(slices.Clone(h.taints), func(t corev1.Taint) bool {
		return api.IsEphemeralTaint(t) || slices.ContainsFunc(claim.Spec.StartupTaints, func(s corev1.Taint) bool {
			return s.Key == t.Key && s.Effect == t.Effect
		})
	})
	for name, amount := range amountsOf(claim.Status.Allocatable) {
		if h.allocatable[name] == 0 {
			h.allocatable[name] = amount
		}
	}
}

func hasCondition(conditions []metav1.Condition, name string) bool {
	return slices.ContainsFunc(conditions, func(condition metav1.Condition) bool {
		return condition.Type == name && condition.Status == metav1.ConditionTrue
	})
}

// checkExisting checks each nominated pod against its node's taints, labels, resources, ports and
// volumes.
func (c *checker) checkExisting() {
	for _, h := range c.hosts[:len(c.snapshot.Nodes)] {
		if len(h.placed) == 0 {
			continue
		}
		if h.leaving {
			c.report("leaving", "%s is to go to %s, which goes away", h.placed[0].name, h.name)
		}
		for _, p := range h.placed {
			if p.volumes.problem != "" {
				c.report("volumes", "%s has a place and cannot: %s", p.name, p.volumes.problem)
			}
			if class, why := refusedFor(p, h, true); class != "" {
				c.report(class, "%s on %s: %s", p.name, h.name, why)
			}
		}
		for _, f := range c.overfull(h) {
			c.report(f.class, "%s: %s", h.name, f.why)
		}
	}
}

// fault is a defect of one node: its class, and a text.
type fault struct{ class, why string }

// refusedFor returns why taints, labels or volumes keep a pod off a node, or nothing. compare has
// the meaning that it has in untolerated.
func refusedFor(p *pod, h *host, compare bool) (class, why string) {
	if taint, ok := untolerated(h.taints, p.object.Spec.Tolerations, compare); ok {
		return "taints", "taint " + taint.ToString() + " is not tolerated"
	}
	name := h.name
	if h.planned != nil {
		name = ""
	}
	if !p.filter.matches(h.labels, name) {
		return "labels", "node selector or affinity does not match"
	}
	if !p.volumes.usable(h.labels, name, h.planned != nil) {
		return "volumes", "a volume cannot be used there"
	}
	return "", ""
}

// overfull lists where the pods and daemon sets of a host exceed its resources, its ports or the
// volumes that it can attach. Like the scheduler, it looks only at resources that placed pods
// request. A node without free CPU still takes a pod that requests none.
func (c *checker) overfull(h *host) []fault {
	var faults []fault
	sum := amounts{}
	asked := map[corev1.ResourceName]bool{}
	for _, p := range h.staying {
		sum.add(p.requests)
	}
	for _, p := range h.placed {
		sum.add(p.requests)
		for name, amount := range p.requests {
			if amount > 0 {
				asked[name] = true
			}
		}
	}
	daemons := c.pendingDaemons(h)
	for _, d := range daemons {
		sum.add(d.requests)
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if sum[name] > h.allocatable[name] {
			faults = append(faults, fault{"resources", excess(name, sum[name], h.allocatable[name])})
		}
	}
	if problem := portProblem(h, daemons); problem != "" {
		faults = append(faults, fault{"ports", problem})
	}
	return append(faults, c.attachmentFaults(h)...)
}

// portProblem names a placed pod whose host port is taken, or returns nothing.
func portProblem(h *host, daemons []*daemon) string {
	type user struct {
		name  string
		ports []hostPort
	}
	var users []user
	for _, p := range h.staying {
		users = append(users, user{p.name, p.ports})
	}
	for _, d := range daemons {
		users = append(users, user{"daemon set " + d.name, d.ports})
	}
	for _, p := range h.placed {
		for _, port := range p.ports {
			for _, u := range users {
				if slices.ContainsFunc(u.ports, port.collides) {
					return "port " + portText(port) + " of " + p.name + " is taken by " + u.name
				}
			}
		}
		users = append(users, user{p.name, p.ports})
	}
	return ""
}

// limitsOf has the node's limits of volumes by driver. What a node in flight has not said yet, its instance
// type says.
func (c *checker) limitsOf(h *host) map[string]int {
	limits := c.volumes.limits[h.name]
	if _, known := limits[ebsDriver]; known || !h.starting {
		return limits
	}
	name, _ := h.labels.get(corev1.LabelInstanceTypeStable)
	of, _ := h.labels.get(api.NodePoolLabelKey)
	if in := c.pools[of]; in != nil {
		for i := range in.types {
			if most := c.mostVolumes(&in.types[i]); in.types[i].Name == name && most > 0 {
				limits = maps.Clone(limits)
				if limits == nil {
					limits = map[string]int{}
				}
				limits[ebsDriver] = most
			}
		}
	}
	return limits
}

// attachmentFaults lists the drivers for which the placed pods need more attached volumes than the
// node can have. Several pods of one node share one attachment of a volume.
func (c *checker) attachmentFaults(h *host) []fault {
	limits := c.limitsOf(h)
	attached, fresh := map[attachment]bool{}, map[string]bool{}
	for _, p := range h.staying {
		for _, a := range p.volumes.attachments {
			attached[a] = true
		}
	}
	for _, p := range h.placed {
		for _, a := range p.volumes.attachments {
			fresh[a.driver] = fresh[a.driver] || !attached[a]
			attached[a] = true
		}
	}
	count := map[string]int{}
	for a := range attached {
		count[a.driver]++
	}
	var faults []fault
	for driver, most := range limits {
		if fresh[driver] && count[driver] > most {
			faults = append(
				faults,
				fault{"attachments", fmt.Sprintf("%d volumes of %s are planned, %d can be attached", count[driver], driver, most)},
			)
		}
	}
	return faults
}

// daemon is a DaemonSet with the needs of one of its pods.
type daemon struct {
	// pod is its pod for the terms of affinity.
	pod             *pod
	namespace, name string
	uid             string
	requests        amounts
	ports           []hostPort
	filter          nodeFilter
	tolerations     []corev1.Toleration
}

// newDaemon reads a DaemonSet. The API server sets a container's missing requests to its limits.
// The DaemonSet controller adds tolerations for the conditions of a node:
// https://kubernetes.io/docs/concepts/workloads/controllers/daemonset/#taints-and-tolerations.
func newDaemon(set *appsv1.DaemonSet) daemon {
	spec := set.Spec.Template.Spec.DeepCopy()
	for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			resources := &containers[i].Resources
			for name, limit := range resources.Limits {
				if _, ok := resources.Requests[name]; ok {
					continue
				}
				if resources.Requests == nil {
					resources.Requests = corev1.ResourceList{}
				}
				resources.Requests[name] = limit
			}
		}
	}
	tolerations := spec.Tolerations
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		tolerations = append(
			tolerations,
			corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
		)
	}
	for _, key := range []string{corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure,
		corev1.TaintNodePIDPressure, corev1.TaintNodeUnschedulable} {
		tolerations = append(
			tolerations,
			corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
		)
	}
	return daemon{
		namespace: set.Namespace, name: set.Name, uid: string(set.UID), requests: podRequests(&corev1.Pod{Spec: *spec}),
		ports:  hostPorts(spec),
		filter: nodeFilterOf(spec), tolerations: tolerations,
	}
}

func (d *daemon) runsOn(l labelSet, taints []corev1.Taint, name string) bool {
	_, kept := untolerated(taints, d.tolerations, true)
	return !kept && d.filter.matches(l, name)
}

// pendingDaemons returns the daemon sets that will run a pod on the host and have none there yet.
func (c *checker) pendingDaemons(h *host) []*daemon {
	name, labels := h.name, h.labels
	if h.planned != nil {
		name = ""
	}
	if h.planned != nil || h.claimed {
		// Lifecycle sets these labels at the latest when the node has started.
		labels = append(slices.Clone(labels), map[string]string{
			api.NodeRegisteredLabelKey: "true", api.NodeInitializedLabelKey: "true",
		})
	}
	var pending []*daemon
	for i := range c.daemons {
		d := &c.daemons[i]
		running := slices.ContainsFunc(h.staying, func(p *pod) bool {
			owner := metav1.GetControllerOf(p.object)
			return owner != nil && owner.Kind == "DaemonSet" && owner.Name == d.name && p.object.Namespace == d.namespace
		})
		if !running && d.runsOn(labels, h.taints, name) {
			pending = append(pending, d)
		}
	}
	return pending
}

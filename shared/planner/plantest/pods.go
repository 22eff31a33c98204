package plantest

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	podresource "k8s.io/component-helpers/resource"

	"github.com/whittle-dev/whittle/shared/api"
)

// amounts are resources in the scheduler's units: CPU in millicores, everything else in whole
// units, rounded up.
type amounts map[corev1.ResourceName]int64

// mostAmount is more than any node has, and so little that a cluster's sum is no more than 64 bits.
const mostAmount = 1 << 55

func amountsOf(list corev1.ResourceList) amounts {
	a := make(amounts, len(list))
	for name, quantity := range list {
		switch name {
		case corev1.ResourceCPU:
			a[name] = min(quantity.MilliValue(), mostAmount)
		case api.ResourceDollarsPerHour:
			a[name] = dollars(quantity.AsApproximateFloat64())
		default:
			a[name] = min(quantity.Value(), mostAmount)
		}
	}
	return a
}

func (a amounts) add(b amounts) {
	for name, n := range b {
		a[name] += n
	}
}

// pod is a pod with its needs as the checks use them.
type pod struct {
	object    *corev1.Pod
	name      string // namespace/name
	requests  amounts
	ports     []hostPort
	filter    nodeFilter
	volumes   volumeNeed
	labels    labels.Set
	affinity  []podTerm
	anti      []podTerm
	spread    []spreadConstraint
	ending    bool // has a deletionTimestamp
	reachable map[reachKey]map[string]*host
}

// hostPort is a port of the node that a container uses.
type hostPort struct {
	ip       string
	protocol corev1.Protocol
	port     int32
}

// collides reports whether two pods with these ports cannot share a node. Port and protocol are
// the same, and the addresses are the same or one of them is every address.
func (p hostPort) collides(q hostPort) bool {
	return p.port == q.port && p.protocol == q.protocol && (p.ip == q.ip || p.ip == anyAddress || q.ip == anyAddress)
}

const anyAddress = "0.0.0.0"

// podTerm is a required term of affinity or anti-affinity between pods.
type podTerm struct {
	key           string
	selector      labels.Selector
	namespaces    map[string]bool
	allNamespaces bool
}

func (t *podTerm) matches(p *pod) bool {
	return (t.allNamespaces || t.namespaces[p.object.Namespace]) && t.selector.Matches(p.labels)
}

// spreadConstraint is a topology spread constraint with DoNotSchedule and Kubernetes' defaults.
type spreadConstraint struct {
	key                        string
	maxSkew, minDomains        int
	selector                   labels.Selector
	honorAffinity, honorTaints bool
}

func (c *checker) newPod(object *corev1.Pod) *pod {
	p := &pod{
		object: object, name: object.Namespace + "/" + object.Name, requests: podRequests(object),
		ports:  hostPorts(&object.Spec),
		filter: nodeFilterOf(&object.Spec), labels: object.Labels, ending: object.DeletionTimestamp != nil,
	}
	p.volumes = c.volumes.need(object)
	c.volumes.release(&p.volumes)
	c.readAffinity(p)
	for i := range object.Spec.TopologySpreadConstraints {
		if constraint := &object.Spec.TopologySpreadConstraints[i]; constraint.WhenUnsatisfiable == corev1.DoNotSchedule {
			p.spread = append(p.spread, newSpreadConstraint(object, constraint))
		}
	}
	return p
}

// daemonPod is a pod of a DaemonSet, with what other pods' affinity and its own anti-affinity read.
func (c *checker) daemonPod(set *appsv1.DaemonSet) *pod {
	object := &corev1.Pod{ObjectMeta: set.Spec.Template.ObjectMeta, Spec: set.Spec.Template.Spec}
	object.Namespace = set.Namespace
	p := &pod{object: object, name: "daemon set " + set.Namespace + "/" + set.Name, labels: object.Labels}
	c.readAffinity(p)
	return p
}

// readAffinity reads the required terms of affinity and anti-affinity.
func (c *checker) readAffinity(p *pod) {
	object := p.object
	if a := object.Spec.Affinity; a != nil && a.PodAffinity != nil {
		p.affinity = c.podTerms(object, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	if a := object.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		p.anti = c.podTerms(object, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
	}
}

func podRequests(object *corev1.Pod) amounts {
	requests := amountsOf(podresource.PodRequests(object, podresource.PodResourcesOptions{UseStatusResources: true}))
	requests[corev1.ResourcePods] = 1
	return requests
}

// hostPorts returns the host ports of containers and sidecars. Sidecars are init containers that
// restart always. Other init containers end before the pod runs.
func hostPorts(spec *corev1.PodSpec) []hostPort {
	var ports []hostPort
	add := func(containers []corev1.Container, sidecars bool) {
		for i := range containers {
			restarts := containers[i].RestartPolicy
			if sidecars && (restarts == nil || *restarts != corev1.ContainerRestartPolicyAlways) {
				continue
			}
			for _, port := range containers[i].Ports {
				if port.HostPort <= 0 {
					continue
				}
				p := hostPort{ip: port.HostIP, protocol: port.Protocol, port: port.HostPort}
				if p.ip == "" {
					p.ip = anyAddress
				}
				if p.protocol == "" {
					p.protocol = corev1.ProtocolTCP
				}
				ports = append(ports, p)
			}
		}
	}
	add(spec.Containers, false)
	add(spec.InitContainers, true)
	return ports
}

// podTerms reads terms. namespaces and namespaceSelector add up. Without both, the term selects
// pods of the pod's own namespace.
func (c *checker) podTerms(object *corev1.Pod, terms []corev1.PodAffinityTerm) []podTerm {
	var result []podTerm
	for i := range terms {
		term := &terms[i]
		t := podTerm{
			key:        term.TopologyKey,
			selector:   withLabelKeys(term.LabelSelector, object.Labels, term.MatchLabelKeys, term.MismatchLabelKeys),
			namespaces: map[string]bool{},
		}
		for _, name := range term.Namespaces {
			t.namespaces[name] = true
		}
		if len(term.Namespaces) == 0 && term.NamespaceSelector == nil {
			t.namespaces[object.Namespace] = true
		}
		if term.NamespaceSelector != nil {
			selector := selectorOf(term.NamespaceSelector)
			t.allNamespaces = selector.Empty()
			for j := range c.snapshot.Namespaces {
				if selector.Matches(labels.Set(c.snapshot.Namespaces[j].Labels)) {
					t.namespaces[c.snapshot.Namespaces[j].Name] = true
				}
			}
		}
		result = append(result, t)
	}
	return result
}

func newSpreadConstraint(object *corev1.Pod, constraint *corev1.TopologySpreadConstraint) spreadConstraint {
	s := spreadConstraint{
		key: constraint.TopologyKey, maxSkew: int(constraint.MaxSkew), minDomains: 1, honorAffinity: true,
		selector: withLabelKeys(constraint.LabelSelector, object.Labels, constraint.MatchLabelKeys, nil),
	}
	if constraint.MinDomains != nil {
		s.minDomains = int(*constraint.MinDomains)
	}
	if policy := constraint.NodeAffinityPolicy; policy != nil {
		s.honorAffinity = *policy == corev1.NodeInclusionPolicyHonor
	}
	if policy := constraint.NodeTaintsPolicy; policy != nil {
		s.honorTaints = *policy == corev1.NodeInclusionPolicyHonor
	}
	return s
}

// selectorOf reads a label selector. Nil and malformed selectors select nothing. An empty selector
// selects everything.
func selectorOf(selector *metav1.LabelSelector) labels.Selector {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return labels.Nothing()
	}
	return parsed
}

// withLabelKeys adds matchLabelKeys and mismatchLabelKeys to a selector: the pod's own values of
// these labels, or any other values. Keys that the pod does not have add nothing. A nil selector
// stays nil.
func withLabelKeys(selector *metav1.LabelSelector, own map[string]string, match, mismatch []string) labels.Selector {
	if selector == nil || len(match)+len(mismatch) == 0 {
		return selectorOf(selector)
	}
	selector = selector.DeepCopy()
	add := func(keys []string, operator metav1.LabelSelectorOperator) {
		for _, key := range keys {
			if value, ok := own[key]; ok {
				selector.MatchExpressions = append(
					selector.MatchExpressions,
					metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}},
				)
			}
		}
	}
	add(match, metav1.LabelSelectorOpIn)
	add(mismatch, metav1.LabelSelectorOpNotIn)
	return selectorOf(selector)
}

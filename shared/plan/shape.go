package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// shape is a number of pods that are equal for scheduling.
type shape struct {
	// pods are in the order in which they get places: oldest first.
	pods []*corev1.Pod
	key  string
	// requests are those of one pod; need is the same as a vector.
	requests corev1.ResourceList
	need     vector
	// alternatives are the label requirements of which a node has to meet one: the node selector with each term of the required node affinity.
	alternatives []scheduling.Requirements
	tolerations  []corev1.Toleration
	ports        []hostPort
	topology     topologyTerms
	// problem is why the pods can have no place at all; empty if they can.
	problem string
}

// hostPort is a port of the node that a pod takes for itself.
type hostPort struct {
	port     int32
	protocol corev1.Protocol
	ip       string
}

func (s *shape) pod() *corev1.Pod { return s.pods[0] }

// shapesOf groups the pods. Shapes are sorted by cpu, then memory, both descending, so that what is hardest to place comes first.
func shapesOf(pods []corev1.Pod, constraints *constraintLabels) []*shape {
	byKey := map[string]*shape{}
	var shapes []*shape
	key := podKey{labelKeys: constraints.keys, constrained: constraints.any}
	for i := range pods {
		k := key.of(&pods[i])
		s, ok := byKey[k]
		if !ok {
			s = &shape{key: k}
			byKey[k] = s
			shapes = append(shapes, s)
		}
		s.pods = append(s.pods, &pods[i])
	}
	for _, s := range shapes {
		slices.SortFunc(s.pods, comparePods)
		s.read()
	}
	return shapes
}

func sortShapes(shapes []*shape) {
	slices.SortFunc(shapes, func(a, b *shape) int {
		return cmp.Or(-cmp.Compare(a.need[axisCPU], b.need[axisCPU]), -cmp.Compare(a.need[axisMemory], b.need[axisMemory]), strings.Compare(a.key, b.key))
	})
}

func comparePods(a, b *corev1.Pod) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name), strings.Compare(string(a.UID), string(b.UID)))
}

// read fills in what follows from the first pod. Which resources count is known only when all pods are read, so need stays for later.
func (s *shape) read() {
	pod := s.pod()
	s.requests = scheduling.PodRequests(pod)
	s.tolerations = pod.Spec.Tolerations
	s.ports = hostPorts(&pod.Spec)
	var err error
	if s.alternatives, err = nodeAlternatives(&pod.Spec); err != nil {
		s.problem = err.Error()
		return
	}
	if s.topology, err = readTopology(pod); err != nil {
		s.problem = err.Error()
	}
}

// nodeAlternatives are the requirements that a pod's nodeSelector and required node affinity make, of which a node has to meet one. The error names
// the field.
func nodeAlternatives(spec *corev1.PodSpec) ([]scheduling.Requirements, error) {
	selector := scheduling.FromLabels(spec.NodeSelector)
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil || spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return []scheduling.Requirements{selector}, nil
	}
	const field = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
	var alternatives []scheduling.Requirements
	for i, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(term.MatchExpressions) == 0 && len(term.MatchFields) == 0 {
			continue // matches no node, as Kubernetes has it
		}
		requirements, err := scheduling.FromNodeSelectorTerm(term)
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", field, i, err)
		}
		requirements.Merge(selector)
		alternatives = append(alternatives, requirements)
	}
	if len(alternatives) == 0 {
		return nil, fmt.Errorf("%s has no term that could match a node: add matchExpressions", field)
	}
	return alternatives, nil
}

func hostPorts(spec *corev1.PodSpec) []hostPort {
	var ports []hostPort
	add := func(container *corev1.Container) {
		for _, port := range container.Ports {
			if port.HostPort != 0 {
				ports = append(ports, hostPort{
					port: port.HostPort, protocol: cmp.Or(port.Protocol, corev1.ProtocolTCP), ip: cmp.Or(port.HostIP, "0.0.0.0"),
				})
			}
		}
	}
	for i := range spec.InitContainers {
		// An ordinary init container has given its ports back when the others start; a sidecar keeps them.
		if spec.InitContainers[i].RestartPolicy != nil {
			add(&spec.InitContainers[i])
		}
	}
	for i := range spec.Containers {
		add(&spec.Containers[i])
	}
	return ports
}

// portsClash reports whether pods with these ports cannot share a node.
func portsClash(a, b []hostPort) bool {
	for _, p := range a {
		for _, q := range b {
			if p.port == q.port && p.protocol == q.protocol && (p.ip == q.ip || isAnyAddress(p.ip) || isAnyAddress(q.ip)) {
				return true
			}
		}
	}
	return false
}

func isAnyAddress(ip string) bool { return ip == "0.0.0.0" || ip == "::" }

func refOf(pod *corev1.Pod) PodRef {
	return PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
}

func compareRefs(a, b PodRef) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(a.UID, b.UID))
}

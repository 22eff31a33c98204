package workload

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// PortsClash reports whether pods with these ports cannot share a node.
func PortsClash(a, b []HostPort) bool {
	for _, p := range a {
		for _, q := range b {
			if p.Port == q.Port && p.Protocol == q.Protocol && (p.IP == q.IP || isAnyAddress(p.IP) || isAnyAddress(q.IP)) {
				return true
			}
		}
	}
	return false
}

func isAnyAddress(ip string) bool { return ip == "0.0.0.0" || ip == "::" }

func HostPorts(spec *corev1.PodSpec) []HostPort { return AppendHostPorts(nil, spec) }

func AppendHostPorts(ports []HostPort, spec *corev1.PodSpec) []HostPort {
	add := func(container *corev1.Container) {
		for _, port := range container.Ports {
			if port.HostPort != 0 {
				ports = append(ports, HostPort{
					Port: port.HostPort, Protocol: cmp.Or(port.Protocol, corev1.ProtocolTCP), IP: cmp.Or(port.HostIP, "0.0.0.0"),
				})
			}
		}
	}
	for i := range spec.InitContainers {
		// An ordinary init container has given its ports back when the others start; a sidecar keeps
		// them.
		if policy := spec.InitContainers[i].RestartPolicy; policy != nil && *policy == corev1.ContainerRestartPolicyAlways {
			add(&spec.InitContainers[i])
		}
	}
	for i := range spec.Containers {
		add(&spec.Containers[i])
	}
	return ports
}

// HostPort is a port of the node that a pod takes for itself.
type HostPort struct {
	Port     int32
	Protocol corev1.Protocol
	IP       string
}

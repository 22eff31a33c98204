package workload

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

// HostPort is a port of the node that a pod uses.
type HostPort struct {
	Port     int32
	Protocol corev1.Protocol
	IP       string
}

// PortsClash reports whether pods with these host ports cannot share a node.
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

// HostPorts returns the host ports of a pod, with Kubernetes' defaults for protocol and address.
func HostPorts(spec *corev1.PodSpec) []HostPort { return AppendHostPorts(nil, spec) }

// AppendHostPorts appends HostPorts of a pod.
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
		// Sidecars keep their ports. Other init containers end before the containers start.
		if policy := spec.InitContainers[i].RestartPolicy; policy != nil && *policy == corev1.ContainerRestartPolicyAlways {
			add(&spec.InitContainers[i])
		}
	}
	for i := range spec.Containers {
		add(&spec.Containers[i])
	}
	return ports
}

package planner

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
)

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

func hostPorts(spec *corev1.PodSpec) []hostPort { return appendHostPorts(nil, spec) }

func appendHostPorts(ports []hostPort, spec *corev1.PodSpec) []hostPort {
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
		if policy := spec.InitContainers[i].RestartPolicy; policy != nil && *policy == corev1.ContainerRestartPolicyAlways {
			add(&spec.InitContainers[i])
		}
	}
	for i := range spec.Containers {
		add(&spec.Containers[i])
	}
	return ports
}

// hostPort is a port of the node that a pod takes for itself.
type hostPort struct {
	port     int32
	protocol corev1.Protocol
	ip       string
}

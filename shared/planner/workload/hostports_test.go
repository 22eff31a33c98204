package workload_test

import (
	"testing"

	"github.com/whittle-dev/whittle/shared/planner/stagetest"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"
)

func TestPortsClash(t *testing.T) {
	tests := []struct {
		name string
		a, b func(*corev1.Pod)
		want bool
	}{
		{"the same port", onPort(80, "", ""), onPort(80, "TCP", "0.0.0.0"), true},
		{"another port", onPort(80, "", ""), onPort(81, "", ""), false},
		{"another protocol", onPort(80, "", ""), onPort(80, "UDP", ""), false},
		{"two addresses", onPort(80, "", "10.0.0.1"), onPort(80, "", "10.0.0.2"), false},
		{"any address", onPort(80, "", "10.0.0.1"), onPort(80, "", "0.0.0.0"), true},
		{"any address of IPv6", onPort(80, "", "::"), onPort(80, "", "10.0.0.2"), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, b := stagetest.Pod("a", "1", "1Gi", test.a), stagetest.Pod("b", "1", "1Gi", test.b)
			got := workload.PortsClash(workload.HostPorts(&a.Spec), workload.HostPorts(&b.Spec))
			if got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestHostPortsOfInitContainers checks that only sidecars keep the ports of init containers.
func TestHostPortsOfInitContainers(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	pod := stagetest.Pod("a", "1", "1Gi", onPort(80, "", ""))
	pod.Spec.InitContainers = []corev1.Container{
		{Ports: []corev1.ContainerPort{{HostPort: 81}}},
		{Ports: []corev1.ContainerPort{{HostPort: 82}}, RestartPolicy: &always},
	}
	ports := workload.HostPorts(&pod.Spec)
	if len(ports) != 2 || ports[0].Port != 82 || ports[1].Port != 80 {
		t.Errorf("got %v, want the ports 82 and 80", ports)
	}
}

package kubelet_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/testdata/lab/kubelet"
)

// asks lets the pod ask for a resource, with a request and a limit.
func asks(name corev1.ResourceName, amount string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		resources := &p.Spec.Containers[0].Resources
		if resources.Requests == nil {
			resources.Requests, resources.Limits = corev1.ResourceList{}, corev1.ResourceList{}
		}
		resources.Requests[name], resources.Limits[name] = resource.MustParse(amount), resource.MustParse(amount)
	}
}

func hostPort(number int32, protocol corev1.Protocol, ip string) func(*corev1.Pod) {
	return with(func(c *corev1.Container) {
		c.Ports = append(c.Ports, corev1.ContainerPort{HostPort: number, Protocol: protocol, HostIP: ip})
	})
}

func tainted(effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "broken", Effect: effect}} }
}

func affine(operator corev1.NodeSelectorOperator) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: operator}},
			}}},
		}}
	}
}

// TestAdmission has the reasons and messages with which the kubelet rejects a pod beside another
// one.
func TestAdmission(t *testing.T) {
	const affinity = "NodeAffinity: Pod was rejected: Predicate NodeAffinity failed: " +
		"node(s) didn't match Pod's node affinity/selector"
	const ports = "NodePorts: Pod was rejected: Predicate NodePorts failed: " +
		"node(s) didn't have free ports for the requested pod ports"
	const taint = "TaintToleration: Pod was rejected: Predicate TaintToleration failed: " +
		"node(s) had taints that the pod didn't tolerate"
	const short = ": Pod was rejected: Node didn't have enough resource: "
	const devices = "UnexpectedAdmissionError: Pod was rejected: Allocate failed due to "
	for _, test := range []struct {
		name   string
		before []func(*corev1.Pod) // the other pod
		pod    []func(*corev1.Pod)
		node   func(*corev1.Node)
		want   string // empty for a pod that is admitted
	}{
		{name: "a pod with room", pod: []func(*corev1.Pod){asks("cpu", "3500m")}},
		{name: "too little cpu", before: []func(*corev1.Pod){asks("cpu", "790m")},
			pod:  []func(*corev1.Pod){asks("cpu", "3500m")},
			want: "OutOfcpu" + short + "cpu, requested: 3500, used: 790, capacity: 4000"},
		{name: "too little memory", pod: []func(*corev1.Pod){asks("memory", "9Gi")},
			want: "OutOfmemory" + short + "memory, requested: 9663676416, used: 0, " +
				"capacity: 8589934592"},
		{name: "too little disk", pod: []func(*corev1.Pod){asks("ephemeral-storage", "21Gi")},
			want: "OutOfephemeral-storage" + short + "ephemeral-storage, " +
				"requested: 22548578304, used: 0, capacity: 21474836480"},
		{name: "no huge pages", pod: []func(*corev1.Pod){asks("hugepages-2Mi", "2Mi")},
			want: "OutOfhugepages-2Mi" + short + "hugepages-2Mi, requested: 2097152, " +
				"used: 0, capacity: 0"},
		{name: "too many pods", node: func(n *corev1.Node) { n.Status.Allocatable["pods"] = resource.MustParse("1") },
			want: "OutOfpods" + short + "pods, requested: 1, used: 1, capacity: 1"},
		{name: "pods before cpu", pod: []func(*corev1.Pod){asks("cpu", "5")},
			node: func(n *corev1.Node) { n.Status.Allocatable["pods"] = resource.MustParse("1") },
			want: "OutOfpods" + short + "pods, requested: 1, used: 1, capacity: 1"},
		{name: "a sidecar counts beside the containers", pod: []func(*corev1.Pod){asks("cpu", "2"),
			initially("side", func(c *corev1.Container) {
				c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("2500m")}
			})},
			want: "OutOfcpu" + short + "cpu, requested: 4500, used: 0, capacity: 4000"},
		{name: "devices", pod: []func(*corev1.Pod){asks("nvidia.com/gpu", "2")}},
		{name: "too few devices", before: []func(*corev1.Pod){asks("nvidia.com/gpu", "1")},
			pod: []func(*corev1.Pod){asks("nvidia.com/gpu", "2")},
			want: devices + "requested number of devices unavailable for " +
				"nvidia.com/gpu. Requested: 2, Available: 1, which is unexpected"},
		{name: "devices whose plugin has not reported since the boot", pod: []func(*corev1.Pod){asks("nvidia.com/gpu", "1")},
			node: func(n *corev1.Node) { n.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("0") },
			want: devices + "no healthy devices present; cannot allocate " +
				"unhealthy devices nvidia.com/gpu, which is unexpected"},
		{name: "an extended resource that the node does not know may be the cluster's",
			pod: []func(*corev1.Pod){asks("example.com/licence", "1")}},
		{name: "a node selector", pod: []func(*corev1.Pod){func(p *corev1.Pod) {
			p.Spec.NodeSelector = map[string]string{"disk": "slow"}
		}}, want: affinity},
		{name: "a node affinity", pod: []func(*corev1.Pod){affine(corev1.NodeSelectorOpDoesNotExist)}, want: affinity},
		{name: "a node affinity that matches", pod: []func(*corev1.Pod){affine(corev1.NodeSelectorOpExists)}},
		{name: "a port of the host", before: []func(*corev1.Pod){hostPort(80, "", "")},
			pod: []func(*corev1.Pod){hostPort(80, corev1.ProtocolTCP, "10.0.0.1")}, want: ports},
		{name: "ports of two protocols", before: []func(*corev1.Pod){hostPort(80, corev1.ProtocolSCTP, "")},
			pod: []func(*corev1.Pod){hostPort(80, corev1.ProtocolUDP, "")}},
		{name: "ports of two addresses", before: []func(*corev1.Pod){hostPort(80, "", "10.0.0.2")},
			pod: []func(*corev1.Pod){hostPort(80, "", "10.0.0.1")}},
		{name: "a taint NoExecute", node: tainted(corev1.TaintEffectNoExecute), want: taint},
		{name: "a taint NoSchedule does not matter to kubelets", node: tainted(corev1.TaintEffectNoSchedule)},
		{name: "a taint that is tolerated", node: tainted(corev1.TaintEffectNoExecute), pod: []func(*corev1.Pod){
			func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} },
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			k, at := kubelet.New(), moment(0)
			if v := k.Look(pod("other", test.before...), at); v.Status.Phase != corev1.PodPending {
				t.Fatalf("the other pod is %+v", v.Status)
			}
			if test.node != nil {
				test.node(at.Node)
			}
			v := k.Look(pod("p", test.pod...), at)
			said := ""
			if v.Status.Phase == corev1.PodFailed {
				said = v.Status.Reason + ": " + v.Status.Message
			}
			if said != test.want || v.Over != (test.want != "") || v.Gone {
				t.Errorf("got %q, want %q; the verdict is %+v", said, test.want, v)
			}
		})
	}
}

func TestAPodThatHasEndedLeavesItsRoom(t *testing.T) {
	k := kubelet.New()
	job := pod("job", asks("cpu", "3"), policy(corev1.RestartPolicyNever), annotated("run-for", "5s"))
	story(k, job, 2*second)
	for i, want := range []corev1.PodPhase{corev1.PodFailed, corev1.PodPending} {
		if i == 1 {
			story(k, job, 6*second)
		}
		if v := k.Look(pod(fmt.Sprint("next", i), asks("cpu", "3")), moment(0)); v.Status.Phase != want {
			t.Errorf("pod %d is %s, want %s", i, v.Status.Phase, want)
		}
	}
}

// TestAPodThatIsGoneLeavesItsRoomAtOnce has a pod that was deleted by force, as the scheduler deletes a victim without
// grace. The kubelet forgets it before its container has stopped.
func TestAPodThatIsGoneLeavesItsRoomAtOnce(t *testing.T) {
	k := kubelet.New()
	victim := pod("victim", asks("cpu", "3"), annotated("stop-for", "never"))
	story(k, victim, 2*second)
	if v := k.Lose(victim.UID, began.Add(3*second)); v.Over {
		t.Fatalf("the victim has stopped already: %+v", v)
	}
	if v := k.Look(pod("next", asks("cpu", "3")), moment(3*second)); v.Status.Phase != corev1.PodPending {
		t.Errorf("the next pod is %s: %s", v.Status.Phase, v.Status.Message)
	}
}

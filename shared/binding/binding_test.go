package binding_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/binding"
)

// change changes the pod, or the place that it was planned for.
type change func(*corev1.Pod, *binding.Place)

func pod(f func(*corev1.Pod)) change { return func(p *corev1.Pod, _ *binding.Place) { f(p) } }

func node(f func(*corev1.Node)) change { return func(_ *corev1.Pod, p *binding.Place) { f(p.Node) } }

func taint(key string, effect corev1.TaintEffect) change {
	return node(func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect}) })
}

func tolerate(key string) change {
	return pod(func(p *corev1.Pod) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	})
}

func ready(n *corev1.Node) {
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
}

func bare(p *corev1.Pod) { p.OwnerReferences = nil }

func amounts(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		corev1.ResourcePods: resource.MustParse("10"),
	}
}

// asking is a pod of a ReplicaSet that the scheduler has not tried yet.
func asking(name, cpu string) *corev1.Pod {
	controller := true
	made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: types.UID(name), ResourceVersion: "7",
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "web", Controller: &controller}},
	}}
	made.Spec.SchedulerName = corev1.DefaultSchedulerName
	made.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
	}}}
	made.Status.Phase = corev1.PodPending
	return made
}

// daemon is a DaemonSet that asks for a core, and running its pod.
func daemon(change ...func(*corev1.PodSpec)) appsv1.DaemonSet {
	set := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", UID: "agent"}}
	set.Spec.Template.Spec = asking("", "1").Spec
	for _, f := range change {
		f(&set.Spec.Template.Spec)
	}
	return set
}

func running() *corev1.Pod {
	made := asking("agent-x", "1")
	made.Spec.NodeName = "n"
	made.OwnerReferences[0].Kind, made.OwnerReferences[0].UID = "DaemonSet", "agent"
	return made
}

func volume(source corev1.VolumeSource) change {
	return pod(func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: source}} })
}

func claimed(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

func hostPort(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}} }

// TestChoose has what decides whether one pod of two cores is bound to a node of four.
func TestChoose(t *testing.T) {
	sets := func(made ...appsv1.DaemonSet) change {
		return func(_ *corev1.Pod, p *binding.Place) { p.DaemonSets = made }
	}
	on := func(pods ...*corev1.Pod) change {
		return func(_ *corev1.Pod, p *binding.Place) { p.Pods = pods }
	}
	refused := asking("other", "1")
	refused.Spec.NodeName, refused.Status.Phase, refused.Status.Reason = "n", corev1.PodFailed, "OutOfcpu"
	finished := running()
	finished.Status.Phase = corev1.PodSucceeded
	port := running()
	hostPort(port)
	for name, test := range map[string]struct {
		changes []change
		want    string // empty for a pod that is bound
	}{
		"a node that starts": {[]change{taint(corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule),
			taint(api.UnregisteredTaintKey, corev1.TaintEffectNoSchedule)}, ""},
		"a kubelet that may not have seen the end of the taint": {
			[]change{taint(api.UnregisteredTaintKey, corev1.TaintEffectNoExecute)}, "does not tolerate the taint karpenter.sh"},
		"a node that the controller found not ready": {
			[]change{taint(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute)}, "does not tolerate the taint node.k"},
		"that, with the toleration that every pod gets": {
			[]change{taint(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute), tolerate(corev1.TaintNodeNotReady)}, ""},
		"a startup taint": {[]change{taint("cni", corev1.TaintEffectNoSchedule)},
			"does not tolerate the taint cni"},
		"a startup taint that it tolerates": {[]change{taint("cni", corev1.TaintEffectNoSchedule), tolerate("cni")}, ""},
		"a soft taint":                      {[]change{taint("soft", corev1.TaintEffectPreferNoSchedule)}, ""},
		"a cordoned node": {[]change{node(func(n *corev1.Node) { n.Spec.Unschedulable = true })},
			"takes no pods"},
		"another scheduler": {[]change{pod(func(p *corev1.Pod) {
			p.Spec.SchedulerName = "volcano"
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
		})}, "volcano"},
		"a gate":        {[]change{pod(func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} })}, "does not wait"},
		"a nomination":  {[]change{pod(func(p *corev1.Pod) { p.Status.NominatedNodeName = "m" })}, "has plans"},
		"a node by now": {[]change{pod(func(p *corev1.Pod) { p.Spec.NodeName = "m" })}, "does not wait"},
		"a group": {[]change{pod(func(p *corev1.Pod) { p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{} })},
			"group as a whole"},
		"a resource claim": {[]change{pod(func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} })},
			"resource claims"},
		"a bound volume":                {[]change{volume(claimed("bound"))}, ""},
		"an unbound one":                {[]change{volume(claimed("waits"))}, "not bound: waits"},
		"an ephemeral one":              {[]change{volume(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}})}, "not bound: p-data"},
		"an inline one":                 {[]change{volume(corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{}})}, "inline"},
		"a pod that nobody makes again": {[]change{pod(bare)}, "nobody makes it again"},
		"that on a ready node":          {[]change{pod(bare), node(ready)}, ""},
		"a device that is not there yet": {[]change{pod(func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests["nvidia.com/gpu"] = resource.MustParse("1")
		})}, "does not report nvidia.com/gpu yet"},
		"a node smaller than planned": {[]change{node(func(n *corev1.Node) {
			n.Status.Allocatable = amounts("1900m",
				"4Gi")
		})},
			"too little cpu"},
		"room beside daemon pods to come":    {[]change{sets(daemon(), daemon())}, ""},
		"no room beside daemon pods to come": {[]change{sets(daemon(), daemon(), daemon())}, "too little cpu"},
		"daemon pods that have come":         {[]change{sets(daemon(), daemon(), daemon()), on(running())}, ""},
		"daemon pods that have ended and come": {[]change{sets(daemon(), daemon(), daemon()), on(finished)},
			"too little cpu"},
		"daemon pods of other nodes": {[]change{sets(daemon(), daemon(), daemon(func(s *corev1.PodSpec) {
			s.NodeSelector = map[string]string{"zone": "b"}
		}))}, ""},
		"daemon pods of started nodes": {[]change{sets(daemon(), daemon(), daemon(func(s *corev1.PodSpec) {
			s.NodeSelector = map[string]string{api.NodeInitializedLabelKey: "true"}
		}))}, "too little cpu"},
		"daemon pods that a taint keeps off": {[]change{taint("team", corev1.TaintEffectNoSchedule), tolerate("team"),
			sets(daemon(), daemon(), daemon())}, ""},
		"a selector":              {[]change{pod(func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"zone": "a"} })}, ""},
		"a selector of elsewhere": {[]change{pod(func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"zone": "b"} })}, "does not match"},
		"a port":                  {[]change{pod(hostPort), on(running())}, ""},
		"a port in use":           {[]change{pod(hostPort), on(port)}, "host port 80 is in use"},
		"a port of a daemon pod to come": {[]change{pod(hostPort), sets(daemon(func(s *corev1.PodSpec) {
			s.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
		}))}, "host port 80 is in use"},
		"a node whose kubelet refused another": {[]change{on(refused)}, "refused pod shop/other: OutOfcpu"},
	} {
		t.Run(name, func(t *testing.T) {
			place := binding.Place{Node: &corev1.Node{}, Volumes: map[string]string{"shop/bound": "pv-1"}}
			place.Node.Name, place.Node.Labels = "n", map[string]string{"zone": "a"}
			place.Node.Status.Allocatable = amounts("4", "4Gi")
			wanted := asking("p", "2")
			for _, f := range test.changes {
				f(wanted, &place)
			}
			chosen, left := binding.Choose(place, []*corev1.Pod{wanted})
			switch {
			case test.want == "" && (len(chosen) != 1 || len(left) != 0):
				t.Errorf("the pod is left: %v", left)
			case test.want != "" && (len(chosen) != 0 || len(left) != 1 || !strings.Contains(left[0].Reason, test.want)):
				t.Errorf("chosen %d, left %v", len(chosen), left)
			}
		})
	}
}

// TestChooseFillsTheNode takes pods in their order, and a later one that still fits.
func TestChooseFillsTheNode(t *testing.T) {
	place := binding.Place{Node: &corev1.Node{}}
	place.Node.Status.Allocatable = amounts("4", "4Gi")
	chosen, left := binding.Choose(place, []*corev1.Pod{asking("a", "2"), asking("b", "3"), asking("c", "1500m"),
		asking("d", "1")})
	var names []string
	for _, pod := range chosen {
		names = append(names, pod.Name)
	}
	if !slices.Equal(names, []string{"a", "c"}) || len(left) != 2 {
		t.Errorf("chosen %q, left %v", names, left)
	}
}

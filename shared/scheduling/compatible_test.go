package scheduling

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

func TestCompatible(t *testing.T) {
	node := NewRequirements(In(corev1.LabelArchStable, "amd64"), In("example.com/team", "red", "blue"))
	for _, test := range []struct {
		name      string
		wanted    Requirements
		undefined Undefined
		want      string
	}{
		{"nothing", nil, UndefinedIsAbsent, ""},
		{"one of several", NewRequirements(In("example.com/team", "red", "green")), UndefinedIsAbsent, ""},
		{"none of several", NewRequirements(In("example.com/team", "green")), UndefinedIsAbsent,
			"example.com/team In [green] is wanted, and nodes here have example.com/team In [blue red]"},
		{"well known on a new node", NewRequirements(In(corev1.LabelTopologyZone, "a")), UndefinedWellKnownIsAny, ""},
		{
			"well known on an existing node", NewRequirements(In(corev1.LabelTopologyZone, "a")), UndefinedIsAbsent,
			`label "topology.kubernetes.io/zone" is not known here`,
		},
		{
			"own label without its prefix", NewRequirements(In("team", "red")), UndefinedWellKnownIsAny,
			`label "team" is not known here: did you mean "example.com/team"?`,
		},
		{"mistyped well known", NewRequirements(In("topology.kubernetes.io/zon", "a")), UndefinedWellKnownIsAny,
			`label "topology.kubernetes.io/zon" is not known here: did you mean "topology.kubernetes.io/zone"?`},
		{"like nothing known", NewRequirements(Exists("x")), UndefinedWellKnownIsAny, `label "x" is not known here`},
		{"absence", NewRequirements(DoesNotExist("x"), NotIn("y", "1")), UndefinedIsAbsent, ""},
		{"absence of what is there", NewRequirements(DoesNotExist("example.com/team")), UndefinedIsAbsent,
			"example.com/team DoesNotExist is wanted, and nodes here have example.com/team In [blue red]"},
		{"old name", FromLabels(map[string]string{"beta.kubernetes.io/arch": "amd64"}), UndefinedIsAbsent, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if err := node.Compatible(test.wanted, test.undefined); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if node.IsCompatible(test.wanted, test.undefined) != (test.want == "") {
				t.Error("IsCompatible says otherwise")
			}
		})
	}
}

func TestTolerates(t *testing.T) {
	noSchedule := func(key, value string) corev1.Taint {
		return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule}
	}
	for _, test := range []struct {
		name       string
		taint      corev1.Taint
		toleration corev1.Toleration
		want       bool
	}{
		{"equal", noSchedule("a", "1"), corev1.Toleration{Key: "a", Value: "1"}, true},
		{
			"other value", noSchedule("a", "1"),
			corev1.Toleration{Key: "a", Operator: corev1.TolerationOpEqual, Value: "2"}, false,
		},
		{"exists", noSchedule("a", "1"), corev1.Toleration{Key: "a", Operator: corev1.TolerationOpExists}, true},
		{"everything", noSchedule("a", "1"), corev1.Toleration{Operator: corev1.TolerationOpExists}, true},
		{
			"other effect", noSchedule("a", "1"),
			corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}, false,
		},
		{"above", noSchedule("a", "5"), corev1.Toleration{Key: "a", Operator: corev1.TolerationOpGt, Value: "4"}, true},
		{"not above", noSchedule("a", "4"), corev1.Toleration{Key: "a", Operator: corev1.TolerationOpGt, Value: "4"}, false},
		{"below", noSchedule("a", "3"), corev1.Toleration{Key: "a", Operator: corev1.TolerationOpLt, Value: "4"}, true},
		{"no number", noSchedule("a", "x"), corev1.Toleration{Key: "a", Operator: corev1.TolerationOpLt, Value: "4"}, false},
		{"unknown operator", noSchedule("a", "1"), corev1.Toleration{Key: "a", Operator: "Near", Value: "1"}, false},
		{
			"mere preference", corev1.Taint{Key: "a", Effect: corev1.TaintEffectPreferNoSchedule},
			corev1.Toleration{Key: "b"}, true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := Tolerates([]corev1.Taint{test.taint}, []corev1.Toleration{test.toleration})
			if (err == nil) != test.want {
				t.Errorf("got %v", err)
			}
		})
	}
	err := Tolerates([]corev1.Taint{noSchedule("dedicated", "batch")}, nil)
	if err == nil || err.Error() != "taint dedicated=batch:NoSchedule is not tolerated" {
		t.Errorf("got %v", err)
	}
}

func TestPodRequests(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	requests := func(cpu string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Resources: requests("1")}, {RestartPolicy: &always, Resources: requests("200m")}},
		Containers:     []corev1.Container{{Resources: requests("300m")}, {Resources: requests("400m")}},
		Overhead:       corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m")},
	}}
	got := PodRequests(pod)
	if cpu := got[corev1.ResourceCPU]; cpu.MilliValue() != 1050 {
		t.Errorf("cpu %s, want the first init container's and the overhead: 1050m", cpu.String())
	}
	if pods := got[corev1.ResourcePods]; pods.Value() != 1 {
		t.Errorf("pods %s, want 1", pods.String())
	}
	template := &corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{
				{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}},
			},
		},
	}
	if cpu := DaemonPodRequests(template)[corev1.ResourceCPU]; cpu.MilliValue() != 2000 {
		t.Errorf("a daemon's limit counts as %s, want 2", cpu.String())
	}
	if len(template.Spec.Containers[0].Resources.Requests) > 0 {
		t.Error("the template was changed")
	}
}

func TestIsProvisionable(t *testing.T) {
	controller := true
	owned := func(kind string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{Kind: kind, Name: "owner", Controller: &controller}}
	}
	for _, test := range []struct {
		name   string
		change func(*corev1.Pod)
		want   bool
	}{
		{"unschedulable", func(*corev1.Pod) {}, true},
		{"of a replica set", func(p *corev1.Pod) { p.OwnerReferences = owned("ReplicaSet") }, true},
		{"bound", func(p *corev1.Pod) { p.Spec.NodeName = "node" }, false},
		{"nominated", func(p *corev1.Pod) { p.Status.NominatedNodeName = "node" }, false},
		{"of a daemon set", func(p *corev1.Pod) { p.OwnerReferences = owned("DaemonSet") }, false},
		{"static", func(p *corev1.Pod) { p.OwnerReferences = owned("Node") }, false},
		{"mirror", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }, false},
		{"gated", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }, false},
		{"not seen by the scheduler", func(p *corev1.Pod) { p.Status.Conditions = nil }, false},
		{"of a manifest", func(p *corev1.Pod) { p.UID, p.Status.Conditions = "", nil }, true},
		{"of a manifest, with a place", func(p *corev1.Pod) { p.UID, p.Spec.NodeName = "", "node" }, false},
		{
			"of a manifest, gated",
			func(p *corev1.Pod) { p.UID, p.Spec.SchedulingGates = "", []corev1.PodSchedulingGate{{Name: "g"}} }, false,
		},
		{
			"for another scheduler's reason",
			func(p *corev1.Pod) { p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated }, false,
		},
		{"terminating", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, false},
		{"failed", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{UID: "pod"},
				Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
					{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable},
				}},
			}
			test.change(pod)
			if got := IsProvisionable(pod); got != test.want {
				t.Errorf("got %t", got)
			}
		})
	}
	terminating := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}, OwnerReferences: owned("ReplicaSet")},
	}
	if IsReschedulable(terminating) {
		t.Error("a terminating pod of a replica set has its successor already")
	}
	terminating.OwnerReferences = owned("StatefulSet")
	if !IsReschedulable(terminating) {
		t.Error("a terminating pod of a stateful set comes back")
	}
}

func TestNormalizeKey(t *testing.T) {
	if got := NormalizeKey(api.LabelTopologyZoneEBS); got != corev1.LabelTopologyZone {
		t.Errorf("got %s", got)
	}
	if !IsWellKnown("beta.kubernetes.io/instance-type") || IsWellKnown("example.com/team") {
		t.Error("well-known labels are wrong")
	}
}

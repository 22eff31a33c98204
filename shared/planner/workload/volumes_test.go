package workload_test

import (
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner/stagetest"
	"github.com/whittle-dev/whittle/shared/planner/workload"

	corev1 "k8s.io/api/core/v1"
)

// mounting adds a volume of a claim.
func mounting(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
	}
}

// bound adds a claim, and the volume that it is bound to, which nodes with this label can use. EBS
// volumes count against the limit of a node; others do not.
func bound(s *plan.Snapshot, name, label, value string, mode corev1.PersistentVolumeAccessMode, ebs bool) {
	class := "disk"
	var claim corev1.PersistentVolumeClaim
	claim.Namespace, claim.Name = "default", name
	claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	claim.Spec.StorageClassName, claim.Spec.VolumeName = &class, "pv-"+name
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{mode}
	claim.Status.Phase = corev1.ClaimBound
	var volume corev1.PersistentVolume
	volume.Name, volume.Spec.StorageClassName, volume.Status.Phase = claim.Spec.VolumeName, class, corev1.VolumeBound
	if ebs {
		volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: "vol-" + name}
	} else {
		volume.Spec.Local = &corev1.LocalVolumeSource{Path: "/mnt"}
	}
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: label, Operator: corev1.NodeSelectorOpIn, Values: []string{value}},
		}}},
	}}
	s.PersistentVolumeClaims = append(s.PersistentVolumeClaims, claim)
	s.PersistentVolumes = append(s.PersistentVolumes, volume)
}

func TestVolumesBindToTheirZone(t *testing.T) {
	s := stagetest.Snapshot(nil)
	bound(s, "data", zone, "b", corev1.ReadWriteOnce, true)
	g := groupOf(t, s, stagetest.Pod("a", "1", "1Gi", mounting("data")))
	if !g.VolumeBound || zonesOf(g.Alternatives) != "b" || g.Problem != "" {
		t.Errorf("bound %v to %q (problem %q), want zone b", g.VolumeBound, zonesOf(g.Alternatives), g.Problem)
	}
	if zonesOf(g.Required) != "" {
		t.Errorf("Required has the zones %q, want those of the node terms only", zonesOf(g.Required))
	}
	if len(g.Attachments) != 1 {
		t.Errorf("got %d attachments, want 1", len(g.Attachments))
	}
	g = groupOf(t, s, stagetest.Pod("a", "1", "1Gi", mounting("data"), stagetest.InZone("a")))
	if !strings.Contains(g.Problem, "leave out the places where its volumes can be used") {
		t.Errorf("the problem is %q, want the contradiction of zones", g.Problem)
	}
	g = groupOf(t, s, stagetest.Pod("a", "1", "1Gi", mounting("nothing")))
	if !strings.Contains(g.Problem, `"default/nothing" does not exist`) {
		t.Errorf("the problem is %q, want that the claim does not exist", g.Problem)
	}
}

// TestLocalVolume binds a pod to the host of its volume while that host takes pods.
func TestLocalVolume(t *testing.T) {
	s := stagetest.Snapshot(nil)
	bound(s, "data", host, "node", corev1.ReadWriteOnce, false)
	s.Nodes = []plan.Node{stagetest.Node("node", "a", 8)}
	hostOf := func() string {
		g := groupOf(t, s, stagetest.Pod("a", "1", "1Gi", mounting("data")))
		value, _ := g.Alternatives.SingleValue(host)
		return value
	}
	if got := hostOf(); got != "node" {
		t.Errorf("the pod is bound to host %q, want node", got)
	}
	s.Nodes[0].Node.Name, s.Nodes[0].Node.Labels[host] = "other", "other"
	if got := hostOf(); got != "" {
		t.Errorf("the pod is bound to host %q, and that does not exist", got)
	}
}

// TestReadWriteOncePod gives a claim to the pod that runs, else to the oldest that waits.
func TestReadWriteOncePod(t *testing.T) {
	s := stagetest.Snapshot(nil,
		stagetest.Pod("b", "1", "1Gi", mounting("data")), stagetest.Pod("a", "1", "1Gi", mounting("data")))
	bound(s, "data", zone, "a", corev1.ReadWriteOncePod, true)
	problems := func() (a, b string) {
		groups := workload.Read(s).Groups
		if len(groups) != 2 {
			t.Fatalf("got %d groups, want one for each pod", len(groups))
		}
		for _, g := range groups {
			if g.Pod().Name == "a" {
				a = g.Problem
			} else {
				b = g.Problem
			}
		}
		return a, b
	}
	if a, b := problems(); a != "" || !strings.Contains(b, `pod "default/a" uses it`) {
		t.Errorf("the problems are %q and %q, want that b waits for a", a, b)
	}
	s.Nodes = []plan.Node{stagetest.Node("node", "a", 8, stagetest.Pod("runs", "1", "1Gi", mounting("data")))}
	if a, b := problems(); !strings.Contains(a, `"default/runs"`) || !strings.Contains(b, `"default/runs"`) {
		t.Errorf("the problems are %q and %q, want that both wait for the running pod", a, b)
	}
}

// TestVolumesSeparateGroups checks that only pods whose volumes leave the same nodes are equal.
func TestVolumesSeparateGroups(t *testing.T) {
	tests := []struct {
		name         string
		label, other string
		ebs          bool
		want         int
	}{
		{name: "the same zone", label: "a", other: "a", want: 1},
		{name: "two zones", label: "a", other: "b", want: 2},
		{name: "volumes that count against limits", label: "a", other: "a", ebs: true, want: 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := stagetest.Snapshot(nil,
				stagetest.Pod("a", "1", "1Gi", mounting("one")), stagetest.Pod("b", "1", "1Gi", mounting("two")))
			bound(s, "one", zone, test.label, corev1.ReadWriteOnce, test.ebs)
			bound(s, "two", zone, test.other, corev1.ReadWriteOnce, test.ebs)
			if got := len(workload.Read(s).Groups); got != test.want {
				t.Errorf("got %d groups, want %d", got, test.want)
			}
		})
	}
}

package planner_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
)

// TestVolumes checks that pods go to the zones of their volumes, and to nodes that can attach them.
func TestVolumes(t *testing.T) {
	class := "gp3"
	claim := func(name, volume string) corev1.PersistentVolumeClaim {
		c := corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:   "default",
				Name:        name,
				Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"},
			},
		}
		c.Spec.StorageClassName, c.Spec.VolumeName = &class, volume
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		c.Status.Phase = corev1.ClaimBound
		return c
	}
	volume := func(name, zone string) corev1.PersistentVolume {
		v := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
		v.Spec.StorageClassName = class
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: "vol-" + name}
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{
			Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
				}}}},
		}
		v.Status.Phase = corev1.VolumeBound
		return v
	}
	mounts := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Volumes = append(
				p.Spec.Volumes,
				corev1.Volume{
					Name: "data",
					VolumeSource: corev1.VolumeSource{
						PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
					},
				},
			)
		}
	}
	s := realSnapshot(t, newPool("default"))
	s.Nodes = []plan.Node{standingNode("a", "us-east-1a"), standingNode("b", "us-east-1b")}
	for i := range 4 {
		name := fmt.Sprintf("data-%d", i)
		s.PersistentVolumeClaims = append(s.PersistentVolumeClaims, claim(name, "pv-"+name))
		s.PersistentVolumes = append(s.PersistentVolumes, volume("pv-"+name, "us-east-1"+string(rune('a'+i%4))))
		s.Pods = append(s.Pods, newPod("p-"+name, "500m", "512Mi", mounts(name)))
	}
	s.Pods = append(s.Pods, newPod("lost", "500m", "512Mi", mounts("nothing")))
	solved := planner.Solve(s)
	nodes := map[string]string{}
	for _, n := range solved.Nominations {
		nodes[n.Pod.Name] = n.NodeName
	}
	if nodes["p-data-0"] != "a" || nodes["p-data-1"] != "b" {
		t.Errorf("existing nodes got %v", nodes)
	}
	if len(solved.NodeClaims) != 1 || solved.NodeClaims[0].NodeClaim.Labels[corev1.LabelTopologyZone] != "us-east-1c" ||
		solved.NodeClaims[0].Pods[0].Name != "p-data-2" {
		t.Errorf("new nodes: %+v", solved.NodeClaims)
	}
	if len(solved.Unplaced) != 2 || !strings.Contains(solved.Unplaced[0].Reasons[0].Message, "nothing") ||
		solved.Unplaced[1].Pod.Name != "p-data-3" {
		t.Errorf("unplaced: %+v", solved.Unplaced)
	}
}

package lifecycle

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/lifecycle/nodeclaim"
	"github.com/whittle-dev/whittle/shared/api"
)

// volumes is a cluster that answers only reads of pods and volumes.
type volumes struct {
	kubernetes
	pods  map[string][]corev1.Pod
	names map[string]string // of persistent volumes, by claim
	asked []string
}

func (v *volumes) PodsOnNode(_ context.Context, node, _ string) ([]corev1.Pod, error) {
	if node == "unreadable" {
		return nil, errors.New("timeout")
	}
	return v.pods[node], nil
}

func (v *volumes) VolumeName(_ context.Context, namespace, claim string) (string, error) {
	v.asked = append(v.asked, namespace+"/"+claim)
	return v.names[claim], nil
}

func podWithVolume(name, claim string, tolerations ...corev1.Toleration) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	pod.Spec.Tolerations = tolerations
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}}
	return pod
}

// contentsOf reads the contents of one node, with the attachments of the cluster.
func contentsOf(client kubernetes, attachments ...storagev1.VolumeAttachment) *contents {
	return &contents{client: client, now: time.Now, pods: newNodePods(client, time.Now, 1, 1), attachments: attachments}
}

func TestTheVolumesOfALeavingNode(t *testing.T) {
	attachment := func(node string) storagev1.VolumeAttachment {
		made := storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "va-" + node}}
		made.Spec.NodeName = node
		return made
	}
	cluster := func() *volumes {
		return &volumes{
			names: map[string]string{"stays": "pv-1", "leaves": "pv-2"},
			pods: map[string][]corev1.Pod{"a": {
				podWithVolume("daemon", "stays", corev1.Toleration{Operator: corev1.TolerationOpExists}),
				podWithVolume("web", "leaves"),
			}},
		}
	}
	view := func(node string) *nodeclaim.View {
		return &nodeclaim.View{Claim: &api.NodeClaim{}, Nodes: []*corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: node}}}}
	}
	t.Run("those of pods that stay are held, others are not asked for", func(t *testing.T) {
		c, v := cluster(), view("a")
		if err := contentsOf(c, attachment("a"), attachment("b")).complete(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if len(v.Pods) != 2 || len(v.Attachments) != 1 || v.Attachments[0].Name != "va-a" {
			t.Errorf("%d pods, attachments %v", len(v.Pods), v.Attachments)
		}
		if !v.HeldVolumes["pv-1"] || v.HeldVolumes["pv-2"] || !slices.Equal(c.asked, []string{"default/stays"}) {
			t.Errorf("held %v, asked for %v", v.HeldVolumes, c.asked)
		}
	})
	t.Run("a node without attachments needs no look at claims", func(t *testing.T) {
		c, v := cluster(), view("a")
		if err := contentsOf(c).complete(t.Context(), v); err != nil || len(c.asked) != 0 {
			t.Errorf("error %v, asked for %v", err, c.asked)
		}
	})
	t.Run("pods that cannot be read are an error that names the node", func(t *testing.T) {
		if err := contentsOf(cluster()).complete(t.Context(), view("unreadable")); err == nil {
			t.Error("no error")
		}
	})
}

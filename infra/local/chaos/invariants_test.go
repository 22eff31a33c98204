package chaos

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/infra/local/ec2"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog/builtin"
)

func instanceOf(id, claim string, state ec2.State) ec2.Instance {
	return ec2.Instance{
		ID: id, Zone: "a", State: state, Facts: builtin.InstanceType{VCPUs: 4},
		Tags: map[string]string{api.NodeClaimTagKey: claim, api.NodePoolLabelKey: "shaky"},
	}
}

func claimOf(name, id string) api.NodeClaim {
	claim := api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if id != "" {
		claim.Status.ProviderID = "aws:///a/" + id
	}
	return claim
}

func TestEachClaimHasOneLiveInstance(t *testing.T) {
	one, ended := instanceOf("i-1", "one", ec2.Running), instanceOf("i-0", "one", ec2.Terminated)
	for _, test := range []struct {
		name              string
		sight             sight
		always, recovered string
	}{
		{"one each", sight{claims: []api.NodeClaim{claimOf("one", "i-1")}, instances: []ec2.Instance{one, ended}}, "", ""},
		{
			"two", sight{
				claims:    []api.NodeClaim{claimOf("one", "i-1")},
				instances: []ec2.Instance{one, instanceOf("i-2", "one", ec2.Pending)},
			}, "nodeclaim one has the instances i-1, i-2", "nodeclaim one has the instances",
		},
		{
			"two claims of one", sight{
				claims: []api.NodeClaim{claimOf("one", "i-1"), claimOf("two", "i-1")}, instances: []ec2.Instance{one},
			}, "the nodeclaims one and two have the same instance", "the same instance",
		},
		{
			"none", sight{claims: []api.NodeClaim{claimOf("one", "i-0")}, instances: []ec2.Instance{ended}}, "",
			"nodeclaim one has no live instance",
		},
		{"claims in flight", sight{claims: []api.NodeClaim{claimOf("one", ""), claimOf("two", "")}}, "", "no live instance"},
		{"an instance of nobody", sight{instances: []ec2.Instance{one}}, "", "instance aws:///a/i-1 has no nodeclaim"},
		{
			"another's tag", sight{claims: []api.NodeClaim{claimOf("two", "i-1")}, instances: []ec2.Instance{one}}, "",
			`whose tag names "one"`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			always := strings.Join(test.sight.doubled(), "; ")
			if !strings.Contains(always, test.always) || (test.always == "") != (always == "") {
				t.Errorf("always: %q, want %q", always, test.always)
			}
			got := test.sight.mismatched()
			if !strings.Contains(got, test.recovered) || (test.recovered == "") != (got == "") {
				t.Errorf("recovered: %q, want %q", got, test.recovered)
			}
		})
	}
}

func TestNoRunningMachineIsOutOfService(t *testing.T) {
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	node.Spec.ProviderID = "aws:///a/i-1"
	s := &sight{nodes: []corev1.Node{node}, instances: []ec2.Instance{instanceOf("i-1", "one", ec2.Running)}}
	if wrong := s.detached(); len(wrong) > 0 {
		t.Errorf("without the taint: %v", wrong)
	}
	s.nodes[0].Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute}}
	if wrong := s.detached(); len(wrong) != 1 {
		t.Errorf("while the instance runs: %v", wrong)
	}
	s.instances[0].State = ec2.Terminated
	if wrong := s.detached(); len(wrong) > 0 {
		t.Errorf("after the instance has ended: %v", wrong)
	}
}

func TestLimitsCountLiveInstances(t *testing.T) {
	s := &sight{instances: []ec2.Instance{
		instanceOf("i-1", "one", ec2.Running), instanceOf("i-2", "two", ec2.Pending),
		instanceOf("i-3", "three", ec2.ShuttingDown),
	}}
	if wrong := s.exceeded(map[string]resource.Quantity{"shaky": resource.MustParse("8"), "steady": {}}); len(wrong) > 0 {
		t.Errorf("8 of 8: %v", wrong)
	}
	short := map[string]resource.Quantity{"shaky": resource.MustParse("7500m")}
	if wrong := s.exceeded(short); len(wrong) != 1 {
		t.Errorf("8 of 7.5: %v", wrong)
	}
	s.claims = []api.NodeClaim{claimOf("one", "i-1"), claimOf("two", "i-2")}
	s.claims[1].Annotations = map[string]string{api.ReplacesAnnotationKey: "one"}
	if wrong := s.exceeded(short); len(wrong) > 0 {
		t.Errorf("one of two is replaced: %v", wrong)
	}
}

func TestProtectedPodsStay(t *testing.T) {
	pod := func(app, uid string, phase corev1.PodPhase) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: uid, UID: types.UID(uid), Labels: map[string]string{"app": app}},
			Status:     corev1.PodStatus{Phase: phase},
		}
	}
	now := metav1.Now()
	going := pod(undisturbed, "a", corev1.PodRunning)
	going.DeletionTimestamp = &now
	running := map[string]string{}
	for i, step := range []struct {
		pods []corev1.Pod
		want []string
	}{
		{[]corev1.Pod{pod(undisturbed, "a", corev1.PodPending), pod("other", "b", corev1.PodRunning)}, nil},
		{nil, nil}, // neither a pod that never ran nor another's
		{[]corev1.Pod{pod(undisturbed, "a", corev1.PodRunning), pod(undisturbed, "c", corev1.PodRunning)}, nil},
		{
			[]corev1.Pod{going, pod(undisturbed, "c", corev1.PodRunning)},
			[]string{"pod a on node  must not be disrupted, and was evicted"},
		},
		{[]corev1.Pod{pod(undisturbed, "c", corev1.PodRunning)}, nil}, // said once
		{nil, []string{"pod c on node  must not be disrupted, and was evicted"}},
	} {
		if got := (&sight{pods: step.pods}).evicted(running); !slices.Equal(got, step.want) {
			t.Errorf("look %d: %v, want %v", i, got, step.want)
		}
	}
}

// withVolume is a pod that runs on a node in zone a, with a volume in the zone.
func withVolume(zone string) *sight {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kept-0"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	pod.Spec.NodeName = "one"
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-kept-0"},
	}}}
	volume := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk"}}
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "data-kept-0"}
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
		}}},
	}}
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
	node.Labels = map[string]string{corev1.LabelTopologyZone: "a"}
	return &sight{
		pods: []corev1.Pod{pod}, nodes: []corev1.Node{node}, volumes: []corev1.PersistentVolume{volume, {}},
		instances: []ec2.Instance{
			{PrivateDNSName: "one", State: ec2.Running}, {PrivateDNSName: "two", State: ec2.ShuttingDown},
			{PrivateDNSName: "ended", State: ec2.Terminated},
		},
	}
}

func attachmentOf(volume, node string, attached bool) storagev1.VolumeAttachment {
	attachment := storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: volume + "-" + node}}
	attachment.Spec.NodeName, attachment.Spec.Source.PersistentVolumeName = node, &volume
	attachment.Status.Attached = attached
	return attachment
}

func TestVolumesAreWhereTheirPodsRun(t *testing.T) {
	for _, test := range []struct {
		name, zone                  string
		attachments                 []storagev1.VolumeAttachment
		outside, shared, unattached string
	}{
		{"as it should be", "a", []storagev1.VolumeAttachment{attachmentOf("disk", "one", true)}, "", "", ""},
		{
			"in another zone", "b", []storagev1.VolumeAttachment{attachmentOf("disk", "one", true)},
			"pod kept-0 runs in zone a, and its volume disk is in b", "", "",
		},
		{"not attached", "a", nil, "", "", "volume disk is not attached to its pod's node one"},
		{
			"not attached yet", "a", []storagev1.VolumeAttachment{attachmentOf("disk", "one", false)}, "", "",
			"volume disk is not attached to its pod's node one",
		},
		{
			"attached twice", "a",
			[]storagev1.VolumeAttachment{attachmentOf("disk", "one", true), attachmentOf("disk", "two", true)}, "",
			"volume disk is attached to the nodes one and two", "no pod needs the attachment disk-two to node two",
		},
		{
			"attached to an instance that has ended", "a",
			[]storagev1.VolumeAttachment{attachmentOf("disk", "one", true), attachmentOf("disk", "ended", true)}, "", "",
			"no pod needs the attachment disk-ended to node ended",
		},
		{
			"an attachment that waits", "a",
			[]storagev1.VolumeAttachment{attachmentOf("disk", "one", true), attachmentOf("disk", "two", false)}, "", "",
			"no pod needs the attachment disk-two to node two",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := withVolume(test.zone)
			s.attachments = test.attachments
			if got := strings.Join(s.outside(), "; "); got != test.outside {
				t.Errorf("outside its zone: %q, want %q", got, test.outside)
			}
			if got := strings.Join(s.shared(), "; "); got != test.shared {
				t.Errorf("attached twice: %q, want %q", got, test.shared)
			}
			if got := s.unattached(); got != test.unattached {
				t.Errorf("recovered: %q, want %q", got, test.unattached)
			}
		})
	}
}

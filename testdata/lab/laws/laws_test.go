package laws_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
	"github.com/whittle-dev/whittle/testdata/lab/laws"
)

func instanceOf(id, claim string, state ec2.State) ec2.Instance {
	return ec2.Instance{
		ID: id, Zone: "a", State: state, Facts: builtin.InstanceType{VCPUs: 4}, InstanceType: "m5.xlarge",
		CapacityType: "spot", PrivateDNSName: "node-" + id,
		Tags: map[string]string{api.NodeClaimTagKey: claim, api.NodePoolLabelKey: "shaky"},
	}
}

func claimOf(name, id string) *api.NodeClaim {
	claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		api.NodePoolLabelKey: "shaky", corev1.LabelInstanceTypeStable: "m5.xlarge", corev1.LabelTopologyZone: "a",
		api.CapacityTypeLabelKey: "spot",
	}}}
	if id != "" {
		claim.Status.ProviderID = "aws:///a/" + id
		claim.Status.NodeName = "node-" + id
	}
	return claim
}

func nodeOf(id string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "node-" + id, Labels: map[string]string{corev1.LabelTopologyZone: "a"},
	}}
	node.Spec.ProviderID = "aws:///a/" + id
	return node
}

func attachmentOf(volume, node string, attached bool) *storagev1.VolumeAttachment {
	attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: volume + "-" + node}}
	attachment.Spec.NodeName, attachment.Spec.Source.PersistentVolumeName = node, &volume
	attachment.Status.Attached = attached
	return attachment
}

// lawful is a world in which a pod runs on one node, with a volume.
func lawful() *laws.World {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kept-0"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	pod.Spec.NodeName = "node-i-1"
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-kept-0"},
	}}}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk"}}
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "data-kept-0"}
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}},
		}}},
	}}
	pool := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "shaky"}}
	pool.Spec.Limits = api.Limits{corev1.ResourceCPU: resource.MustParse("8")}
	return &laws.World{
		Now: time.Now(), Pools: []*api.NodePool{pool, {}}, Claims: []*api.NodeClaim{claimOf("one", "i-1")},
		Nodes: []*corev1.Node{nodeOf("i-1")}, Pods: []*corev1.Pod{pod},
		Volumes: []*corev1.PersistentVolume{volume, {}}, Attachments: []*storagev1.VolumeAttachment{
			attachmentOf("disk", "node-i-1", true),
		},
		Instances: []ec2.Instance{instanceOf("i-1", "one", ec2.Running), instanceOf("i-0", "one", ec2.Terminated)},
	}
}

func TestALawfulWorldBreaksNoLaw(t *testing.T) {
	if wrong := laws.Broken(lawful(), slices.Concat(laws.Always(), laws.AtRest())); len(wrong) > 0 {
		t.Error(wrong)
	}
}

// breach changes a lawful world, and names the laws that this breaks, with what they say.
type breach struct {
	name   string
	change func(*laws.World)
	broken map[string]string
}

func breaches() []breach {
	now := metav1.Now()
	return []breach{
		{
			"a second instance", func(w *laws.World) {
				w.Instances = append(w.Instances, instanceOf("i-2", "one", ec2.Pending))
			}, map[string]string{"one-instance": "nodeclaim one has the instances i-1, i-2"},
		},
		{
			"an instance that two claims have", func(w *laws.World) { w.Claims = append(w.Claims, claimOf("two", "i-1")) },
			map[string]string{
				"one-instance":          "the nodeclaims one and two have the same instance",
				"claims-have-instances": `whose tag names "one"`,
			},
		},
		{
			"an instance that has ended", func(w *laws.World) { w.Instances = w.Instances[1:] },
			map[string]string{"claims-have-instances": "nodeclaim one has no live instance"},
		},
		{
			"a claim in flight", func(w *laws.World) { w.Claims = append(w.Claims, claimOf("two", "")) },
			map[string]string{"claims-have-instances": "nodeclaim two has no live instance"},
		},
		{
			"a claim in flight within the patience", func(w *laws.World) {
				w.Patience = time.Minute
				young := claimOf("two", "")
				young.CreationTimestamp = now
				w.Claims = append(w.Claims, young)
			}, nil,
		},
		{
			"an instance of nobody", func(w *laws.World) {
				w.Instances = append(w.Instances, instanceOf("i-2", "gone", ec2.Running))
			},
			map[string]string{"instances-have-claims": "instance i-2 has no nodeclaim"},
		},
		{
			"a stopped instance of nobody", func(w *laws.World) {
				w.Instances = append(w.Instances, instanceOf("i-2", "gone", ec2.Stopped))
			}, map[string]string{"instances-have-claims": "instance i-2 has no nodeclaim"},
		},
		{
			"an instance that does not run yet", func(w *laws.World) { w.Instances[0].State = ec2.Pending },
			map[string]string{"claims-have-instances": "nodeclaim one has no live instance"},
		},
		{
			"more processors than the limit", func(w *laws.World) {
				w.Claims = append(w.Claims, claimOf("two", "i-2"), claimOf("three", "i-3"))
				w.Instances = append(w.Instances, instanceOf("i-2", "two", ec2.Running), instanceOf("i-3", "three", ec2.Running))
			}, map[string]string{"within-limits": "nodepool shaky has 12 processors, and its limit is 8"},
		},
		{
			"a replacement above the limit", func(w *laws.World) {
				w.Claims = append(w.Claims, claimOf("two", "i-2"), claimOf("three", "i-3"))
				w.Claims[1].Annotations = map[string]string{api.ReplacesAnnotationKey: "one"}
				w.Instances = append(w.Instances, instanceOf("i-2", "two", ec2.Running), instanceOf("i-3", "three", ec2.Running))
			}, nil,
		},
		{
			"a claim that leaves above the limit", func(w *laws.World) {
				w.Patience = time.Minute
				w.Claims = append(w.Claims, claimOf("two", "i-2"), claimOf("three", "i-3"))
				w.Claims[2].DeletionTimestamp = &now
				w.Instances = append(w.Instances, instanceOf("i-2", "two", ec2.Running), instanceOf("i-3", "three", ec2.Running))
			}, nil,
		},
		{
			"a machine out of service that runs", func(w *laws.World) {
				w.Nodes[0].Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute}}
			}, map[string]string{"in-service": "node node-i-1 is out of service, and its instance i-1 is running"},
		},
		{
			"a soft taint that nobody asked for", func(w *laws.World) {
				w.Nodes[0].Spec.Taints = []corev1.Taint{api.CandidateTaint()}
			}, map[string]string{"steered-by-wish": "node node-i-1 has the soft taint, and nodepool shaky does not ask for it"},
		},
		{
			"a soft taint that the pool asks for", func(w *laws.World) {
				w.Nodes[0].Spec.Taints = []corev1.Taint{api.CandidateTaint()}
				w.Pools[0].Annotations = map[string]string{api.SteerPodsAnnotationKey: "true"}
			}, nil,
		},
		{
			"a volume of another zone", func(w *laws.World) { w.Nodes[0].Labels[corev1.LabelTopologyZone] = "b" },
			map[string]string{"volume-in-its-zone": "pod kept-0 runs in zone b, and its volume disk is in a"},
		},
		{
			"a volume on two machines", func(w *laws.World) {
				w.Instances = append(w.Instances, instanceOf("i-2", "", ec2.ShuttingDown))
				w.Attachments = append(w.Attachments, attachmentOf("disk", "node-i-2", true))
			}, map[string]string{
				"volume-on-one-machine": "volume disk is attached to the nodes node-i-1 and node-i-2",
				"volumes-where-needed":  "no pod needs the attachment disk-node-i-2",
			},
		},
		{
			"a volume on a machine that has ended, too", func(w *laws.World) {
				w.Attachments = append(w.Attachments, attachmentOf("disk", "node-i-0", true))
			}, map[string]string{"volumes-where-needed": "no pod needs the attachment disk-node-i-0"},
		},
		{
			"a volume that no pod needs on a node that leaves", func(w *laws.World) {
				leaving, since := *w.Nodes[0], now
				leaving.Name, leaving.DeletionTimestamp = "node-i-0", &since
				w.Patience, w.Nodes = time.Minute, append(w.Nodes, &leaving)
				w.Attachments = append(w.Attachments, attachmentOf("disk", "node-i-0", true))
			}, nil,
		},
		{
			"a volume that is not attached yet", func(w *laws.World) { w.Attachments[0].Status.Attached = false },
			map[string]string{"volumes-where-needed": "volume disk is not attached to its pod's node node-i-1"},
		},
		{
			"a volume whose pod ends", func(w *laws.World) {
				since := now
				w.Pods[0].DeletionTimestamp, w.Attachments[0].Status.Attached = &since, false
			}, nil,
		},
		{
			"a volume whose pod has just come", func(w *laws.World) {
				w.Patience, w.Attachments = time.Minute, nil
				w.Pods[0].CreationTimestamp, w.Pods[0].Status.Phase = now, corev1.PodPending
			}, nil,
		},
		{
			"another price", func(w *laws.World) { w.Instances[0].CapacityType = "on-demand" },
			map[string]string{
				"billed-as-said": "nodeclaim one says m5.xlarge of spot in a, and EC2 bills m5.xlarge of on-demand",
			},
		},
		{
			"a reservation", func(w *laws.World) {
				w.Instances[0].CapacityType, w.Instances[0].CapacityReservationID = "on-demand", "cr-1"
				w.Claims[0].Labels[api.CapacityTypeLabelKey] = api.CapacityTypeReserved
			}, nil,
		},
		{
			"a claim that does not go", func(w *laws.World) { w.Claims[0].DeletionTimestamp = &now },
			map[string]string{"what-ends-goes": "nodeclaim one has been ending for"},
		},
		{
			"a claim that pods hold", func(w *laws.World) {
				w.Claims[0].DeletionTimestamp, w.Held = &now, func(*api.NodeClaim) bool { return true }
			}, nil,
		},
		{
			"a class that does not go", func(w *laws.World) {
				w.Classes = []*api.EC2NodeClass{{ObjectMeta: metav1.ObjectMeta{Name: "default", DeletionTimestamp: &now}}}
			}, map[string]string{"what-ends-goes": "ec2nodeclass default has been ending for"},
		},
		{
			"a node of nobody", func(w *laws.World) { w.Nodes = append(w.Nodes, nodeOf("i-9")) },
			map[string]string{"nodes-have-claims": "node node-i-9 has no nodeclaim"},
		},
	}
}

func TestEachBreachBreaksItsLaws(t *testing.T) {
	proven := map[string]bool{}
	for _, breach := range breaches() {
		t.Run(breach.name, func(t *testing.T) {
			world := lawful()
			breach.change(world)
			for _, law := range slices.Concat(laws.Always(), laws.AtRest()) {
				want, broken := breach.broken[law.Name]
				got := strings.Join(law.Broken(world), "; ")
				if broken != (got != "") || !strings.Contains(got, want) {
					t.Errorf("law %s says %q, want %q", law.Name, got, want)
				}
				proven[law.Name] = proven[law.Name] || broken
			}
		})
	}
	for _, law := range slices.Concat(laws.Always(), laws.AtRest()) {
		if !proven[law.Name] {
			t.Errorf("no world breaks the law %s", law.Name)
		}
	}
}

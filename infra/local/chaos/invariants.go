package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/infra/local/ec2"
	"github.com/whittle-dev/whittle/infra/local/laws"
	"github.com/whittle-dev/whittle/shared/api"
)

// sight is the world at one look. The cluster was read before the instances.
type sight struct {
	claims      []api.NodeClaim
	pods        []corev1.Pod
	nodes       []corev1.Node
	volumes     []corev1.PersistentVolume
	attachments []storagev1.VolumeAttachment
	instances   []ec2.Instance
}

// live reports whether the instance runs or will.
func live(instance *ec2.Instance) bool {
	return instance.State == ec2.Pending || instance.State == ec2.Running
}

// doubled lists the claims that have two live instances, and the instances that are two claims'.
func (s *sight) doubled() []string {
	var wrong []string
	of := map[string][]string{}
	for i := range s.instances {
		instance := &s.instances[i]
		if claim := instance.Tags[api.NodeClaimTagKey]; claim != "" && live(instance) {
			of[claim] = append(of[claim], instance.ID)
		}
	}
	for _, claim := range slices.Sorted(maps.Keys(of)) {
		if len(of[claim]) > 1 {
			wrong = append(wrong, fmt.Sprintf("nodeclaim %s has the instances %s", claim, strings.Join(of[claim], ", ")))
		}
	}
	owners := map[string]string{}
	for i := range s.claims {
		id, name := s.claims[i].Status.ProviderID, s.claims[i].Name
		if other := owners[id]; id != "" && other != "" {
			wrong = append(wrong, fmt.Sprintf("the nodeclaims %s and %s have the same instance %s", other, name, id))
		}
		owners[id] = name
	}
	return wrong
}

// mismatched describes the first claim that has not exactly one live instance, or the first instance
// without a claim; empty for none. It holds in a recovered world, where no claim ends.
func (s *sight) mismatched() string {
	if wrong := s.doubled(); len(wrong) > 0 {
		return wrong[0]
	}
	running := map[string]*ec2.Instance{}
	for i := range s.instances {
		if live(&s.instances[i]) {
			running[s.instances[i].ProviderID()] = &s.instances[i]
		}
	}
	for i := range s.claims {
		id := s.claims[i].Status.ProviderID
		if running[id] == nil {
			return fmt.Sprintf("nodeclaim %s has no live instance (%q)", s.claims[i].Name, id)
		}
		if tagged := running[id].Tags[api.NodeClaimTagKey]; tagged != s.claims[i].Name {
			return fmt.Sprintf("nodeclaim %s has the instance %s, whose tag names %q", s.claims[i].Name, id, tagged)
		}
		delete(running, id)
	}
	for _, id := range slices.Sorted(maps.Keys(running)) {
		return fmt.Sprintf("instance %s has no nodeclaim; tags %v", id, running[id].Tags)
	}
	return ""
}

// detached lists the nodes whose volumes Kubernetes may detach although the machine runs. The taint
// also lets it delete the node's pods without their machine's knowledge.
func (s *sight) detached() []string {
	var wrong []string
	for i := range s.nodes {
		node := &s.nodes[i]
		tainted := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Key == corev1.TaintNodeOutOfService
		})
		at := slices.IndexFunc(s.instances, func(i ec2.Instance) bool { return i.ProviderID() == node.Spec.ProviderID })
		if tainted && at >= 0 && s.instances[at].State == ec2.Running {
			wrong = append(wrong, fmt.Sprintf("node %s is out of service, and its instance %s runs", node.Name,
				s.instances[at].ID))
		}
	}
	return wrong
}

// exceeded lists the NodePools whose live instances have more processors than their limit, without those
// that leave.
func (s *sight) exceeded(limits map[string]resource.Quantity) []string {
	var wrong []string
	claims, names := make([]*api.NodeClaim, len(s.claims)), map[string]string{}
	for i := range s.claims {
		claims[i] = &s.claims[i]
		names[claims[i].Status.ProviderID] = claims[i].Name
	}
	staying := laws.Staying(claims)
	leaves := func(i *ec2.Instance) bool {
		stays, claimed := staying[cmp.Or(names[i.ProviderID()], i.Tags[api.NodeClaimTagKey])]
		return claimed && !stays
	}
	for _, pool := range slices.Sorted(maps.Keys(limits)) {
		sum := int64(0)
		for i := range s.instances {
			if instance := &s.instances[i]; live(instance) && instance.Tags[api.NodePoolLabelKey] == pool &&
				!leaves(instance) {
				sum += int64(instance.Facts.VCPUs)
			}
		}
		if limit := limits[pool]; limit.CmpInt64(sum) < 0 {
			wrong = append(wrong, fmt.Sprintf("nodepool %s has %d processors, and its limit is %s", pool, sum, limit.String()))
		}
	}
	return wrong
}

// undisturbed is the label of the pods that nothing may evict.
const undisturbed = "undisturbed"

// evicted lists the protected pods that were seen running before and have gone or are going. It
// remembers those that run.
func (s *sight) evicted(running map[string]string) []string {
	var wrong []string
	present := map[string]bool{}
	for i := range s.pods {
		pod := &s.pods[i]
		if pod.Labels["app"] != undisturbed {
			continue
		}
		uid := string(pod.UID)
		present[uid] = pod.DeletionTimestamp == nil
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			running[uid] = pod.Name + " on node " + pod.Spec.NodeName
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(running)) {
		if !present[uid] {
			wrong = append(wrong, fmt.Sprintf("pod %s must not be disrupted, and was evicted", running[uid]))
			delete(running, uid)
		}
	}
	return wrong
}

// outside lists the running pods whose volume is in another zone than their node.
func (s *sight) outside() []string {
	var wrong []string
	for i := range s.pods {
		pod := &s.pods[i]
		at := slices.IndexFunc(s.nodes, func(node corev1.Node) bool { return node.Name == pod.Spec.NodeName })
		if at < 0 || pod.Status.Phase != corev1.PodRunning {
			continue
		}
		zone := s.nodes[at].Labels[corev1.LabelTopologyZone]
		for _, volume := range s.volumesOf(pod) {
			if !slices.Contains(zonesOf(volume), zone) {
				wrong = append(wrong, fmt.Sprintf("pod %s runs in zone %s, and its volume %s is in %s", pod.Name, zone,
					volume.Name, strings.Join(zonesOf(volume), ", ")))
			}
		}
	}
	return wrong
}

// volumesOf returns the volumes that are bound to the pod's claims.
func (s *sight) volumesOf(pod *corev1.Pod) []*corev1.PersistentVolume {
	var bound []*corev1.PersistentVolume
	for i := range pod.Spec.Volumes {
		source := pod.Spec.Volumes[i].PersistentVolumeClaim
		if source == nil {
			continue
		}
		for j := range s.volumes {
			claim := s.volumes[j].Spec.ClaimRef
			if claim != nil && claim.Namespace == pod.Namespace && claim.Name == source.ClaimName {
				bound = append(bound, &s.volumes[j])
			}
		}
	}
	return bound
}

// zonesOf returns the zones from which a volume can be used.
func zonesOf(volume *corev1.PersistentVolume) []string {
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return nil
	}
	var zones []string
	for _, term := range volume.Spec.NodeAffinity.Required.NodeSelectorTerms {
		for _, one := range term.MatchExpressions {
			if one.Key == corev1.LabelTopologyZone && one.Operator == corev1.NodeSelectorOpIn {
				zones = append(zones, one.Values...)
			}
		}
	}
	return zones
}

// shared lists the volumes that are attached to two nodes whose instances have not ended. Kubernetes
// may keep the attachment of an ended instance for a while.
func (s *sight) shared() []string {
	var wrong []string
	at := map[string]string{}
	for i := range s.attachments {
		one := &s.attachments[i]
		volume, node := one.Spec.Source.PersistentVolumeName, one.Spec.NodeName
		if volume == nil || !one.Status.Attached || !slices.ContainsFunc(s.instances, func(i ec2.Instance) bool {
			return i.PrivateDNSName == node && i.State != ec2.Terminated
		}) {
			continue
		}
		if other := at[*volume]; other != "" {
			wrong = append(wrong, fmt.Sprintf("volume %s is attached to the nodes %s and %s", *volume, other, node))
		}
		at[*volume] = node
	}
	return wrong
}

// unattached describes the first running pod whose volume is not attached to its node, or the first
// attachment that no pod needs; empty for none. It holds in a recovered world.
func (s *sight) unattached() string {
	needed := map[string]string{}
	for i := range s.pods {
		for _, volume := range s.volumesOf(&s.pods[i]) {
			needed[volume.Name] = s.pods[i].Spec.NodeName
		}
	}
	for i := range s.attachments {
		one := &s.attachments[i]
		volume := one.Spec.Source.PersistentVolumeName
		if volume == nil || needed[*volume] != one.Spec.NodeName {
			return fmt.Sprintf("no pod needs the attachment %s to node %s", one.Name, one.Spec.NodeName)
		}
		if one.Status.Attached {
			delete(needed, *volume)
		}
	}
	for _, volume := range slices.Sorted(maps.Keys(needed)) {
		return fmt.Sprintf("volume %s is not attached to its pod's node %s", volume, needed[volume])
	}
	return ""
}

package simulate

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/simulate/apiserver"
)

const (
	// ebsDriver is the CSI driver of all volumes, and attachedFinalizer holds their attachments.
	ebsDriver         = "ebs.csi.aws.com"
	attachedFinalizer = "external-attacher/ebs-csi-aws-com"
	storageClass      = "gp3"
	// slotLabel has the number of a pod in a workload with volumes. A pod has the volume of its
	// number.
	slotLabel = "slot"
	// unmountWait is how long the controller waits for a kubelet that does not report that it has
	// unmounted.
	unmountWait = 6 * time.Minute
)

// volumeOf is the name of the pod's persistent volume and of its claim, or "".
func volumeOf(pod *corev1.Pod) string {
	for i := range pod.Spec.Volumes {
		if source := pod.Spec.Volumes[i].PersistentVolumeClaim; source != nil {
			return source.ClaimName
		}
	}
	return ""
}

// makeVolume makes the volume of a slot, in the zone that the seed chooses, unless there is one.
func (r *Run) makeVolume(l *workload, slot int) (string, error) {
	name := fmt.Sprintf("%s-volume-%d", l.name, slot)
	if r.zones[name] != "" {
		return name, nil
	}
	zone := l.zone
	if zone == "" {
		zone = region + string('a'+rune(r.engine.Number(0, 2, name, "zone")))
	}
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	class := storageClass
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, StorageClassName: class,
			ClaimRef: &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: metav1.NamespaceDefault, Name: name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: ebsDriver, VolumeHandle: "vol-" + name},
			},
			NodeAffinity: inZone(zone),
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: metav1.NamespaceDefault,
			Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: &class, VolumeName: name,
			Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: size, AccessModes: modes},
	}
	r.zones[name] = zone
	if _, err := r.store.Create(apiserver.Volumes, volume); err != nil {
		return "", err
	}
	_, err := r.store.Create(apiserver.VolumeClaims, claim)
	return name, err
}

// inZone is the affinity of a volume of the zone.
func inZone(zone string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone},
		}},
	}}}}
}

// makeStorageClass makes the class of all volumes.
func (r *Run) makeStorageClass() error {
	waits := storagev1.VolumeBindingWaitForFirstConsumer
	_, err := r.store.Create(apiserver.StorageClasses, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: storageClass}, Provisioner: ebsDriver, VolumeBindingMode: &waits,
	})
	return err
}

// replicateSlots makes and ends the pods of a workload with volumes, as the controller of a
// StatefulSet does: a pod with the number of another comes when that one has gone.
func (r *Run) replicateSlots(l *workload, pods []*corev1.Pod) error {
	taken := map[string]*corev1.Pod{}
	for _, pod := range pods {
		if pod.Labels["app"] == l.name {
			taken[pod.Labels[slotLabel]] = pod
		}
	}
	l.slots = max(l.slots, l.count)
	for slot := range l.slots {
		number := fmt.Sprint(slot)
		switch pod := taken[number]; {
		case pod == nil && slot < l.count:
			volume, err := r.makeVolume(l, slot)
			if err != nil {
				return err
			}
			l.made++
			made := l.pod()
			made.Labels[slotLabel] = number
			made.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: volume},
			}}}
			if _, err := r.store.Create(apiserver.Pods, made); err != nil {
				return err
			}
		case pod != nil && slot >= l.count && pod.DeletionTimestamp == nil:
			r.scaleDown(pod)
		}
	}
	return nil
}

// attachVolumes attaches volumes to the nodes of their pods and detaches those without, as the
// attach-detach controller does. It detaches a volume that the kubelet has unmounted, or whose node
// is out of service. After six minutes it gives up a kubelet that is silent.
func (r *Run) attachVolumes() {
	wanted := map[string]string{}
	for _, pod := range apiserver.List[corev1.Pod](r.store, apiserver.Pods) {
		if volume := volumeOf(pod); volume != "" && pod.Spec.NodeName != "" {
			wanted[volume] = pod.Spec.NodeName
		}
	}
	held := map[string]bool{}
	for _, attachment := range apiserver.List[storagev1.VolumeAttachment](r.store, apiserver.Attachments) {
		volume := *attachment.Spec.Source.PersistentVolumeName
		held[volume] = true
		if attachment.DeletionTimestamp != nil {
			continue
		}
		if wanted[volume] == attachment.Spec.NodeName {
			delete(r.unwanted, attachment.Name)
			continue
		}
		if r.unwanted[attachment.Name].IsZero() {
			r.unwanted[attachment.Name] = time.Now()
		}
		if may, gaveUp := r.mayDetach(attachment, volume); may {
			r.detach(attachment, volume, gaveUp)
		}
	}
	for _, volume := range slices.Sorted(maps.Keys(wanted)) {
		if !held[volume] {
			r.attach(volume, wanted[volume])
		}
	}
}

// mayDetach reports whether the controller detaches a volume that no pod on the node needs, and
// whether it has given up the kubelet, which may have it mounted still.
func (r *Run) mayDetach(attachment *storagev1.VolumeAttachment, volume string) (may, gaveUp bool) {
	if !r.isMounted(attachment.Spec.NodeName, volume) {
		return true, false
	}
	object := r.store.Get(apiserver.Nodes, "", attachment.Spec.NodeName)
	waited := time.Since(r.unwanted[attachment.Name]) > unmountWait
	if object == nil {
		return waited, waited
	}
	node, _ := object.Typed.(*corev1.Node)
	out := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == corev1.TaintNodeOutOfService
	})
	silent := waited && readiness(node) != corev1.ConditionTrue
	return out || silent, silent
}

// isMounted reports whether the kubelet of the node last said that the volume is in use.
func (r *Run) isMounted(nodeName, volume string) bool {
	for _, m := range r.machines {
		if m.instance.PrivateDNSName == nodeName && slices.Contains(m.mounted(), volume) {
			return true
		}
	}
	return false
}

// attach orders an attachment and carries it out after a while.
func (r *Run) attach(volume, nodeName string) {
	name := "csi-" + volume + "-" + nodeName
	_, err := r.store.Create(apiserver.Attachments, &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{attachedFinalizer}},
		Spec: storagev1.VolumeAttachmentSpec{Attacher: ebsDriver, NodeName: nodeName,
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume}},
	})
	if err != nil {
		r.violate("a volume cannot be attached: %v", err)
		return
	}
	delete(r.unwanted, name)
	r.engine.In(r.engine.Between(time.Second, 10*time.Second, name, "attaches", fmt.Sprint(r.engine.Steps())), func() {
		r.fulfil(name, nodeName)
	})
}

// fulfil asks EC2 for an attachment, again and again where the instance has no room for it.
func (r *Run) fulfil(name, nodeName string) {
	m := r.machineOf(nodeName)
	if m == nil || m.off || r.store.Get(apiserver.Attachments, "", name) == nil {
		return // EC2 attaches volumes to running instances only
	}
	attached := 0
	for _, other := range apiserver.List[storagev1.VolumeAttachment](r.store, apiserver.Attachments) {
		if other.Spec.NodeName == nodeName && other.Status.Attached {
			attached++
		}
	}
	if err := r.ec2.AttachVolume(m.instance.ID, attached); err != nil {
		r.trace("%s waits: %v", name, err)
		r.engine.In(10*time.Second, func() { r.fulfil(name, nodeName) })
		return
	}
	apiserver.Update(r.store, apiserver.Attachments, "", name, func(stored *storagev1.VolumeAttachment) bool {
		stored.Status.Attached = stored.DeletionTimestamp == nil
		return stored.Status.Attached
	})
}

// registerDriver tells Kubernetes how many volumes the node takes, as the node's CSI driver does.
func (r *Run) registerDriver(m *machine) {
	name, count := m.instance.PrivateDNSName, int32(min(r.ec2.VolumeRoom(m.instance.ID), math.MaxInt32))
	if earlier := r.store.Get(apiserver.CSINodes, "", name); earlier != nil {
		r.store.Remove(apiserver.CSINodes, "", name, earlier.Meta.GetUID())
	}
	if _, err := r.store.Create(apiserver.CSINodes, &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name: ebsDriver, NodeID: m.instance.ID, Allocatable: &storagev1.VolumeNodeResources{Count: &count},
		}}},
	}); err != nil {
		r.violate("the driver of %s cannot be registered: %v", name, err)
	}
}

// volumeLimit is how many volumes the node's driver attaches, or many before it has said so.
func (r *Run) volumeLimit(nodeName string) int64 {
	object := r.store.Get(apiserver.CSINodes, "", nodeName)
	if object == nil {
		return math.MaxInt64
	}
	node, _ := object.Typed.(*storagev1.CSINode)
	return int64(*node.Spec.Drivers[0].Allocatable.Count)
}

// detach deletes the attachment, whose finalizer goes when EC2 has detached the volume. When the
// controller gave up a kubelet, Kubernetes itself takes a volume from a machine that may run.
func (r *Run) detach(attachment *storagev1.VolumeAttachment, volume string, gaveUp bool) {
	object := r.store.Get(apiserver.Attachments, "", attachment.Name)
	if object == nil {
		return
	}
	r.store.Delete(object, nil)
	name, uid, nodeName := attachment.Name, attachment.UID, attachment.Spec.NodeName
	r.engine.In(r.engine.Between(time.Second, 15*time.Second, string(uid), "detaches"), func() {
		for _, id := range slices.Sorted(maps.Keys(r.machines)) {
			m := r.machines[id]
			if m.instance.PrivateDNSName != nodeName || !slices.Contains(m.mounted(), volume) {
				continue
			}
			if !m.off && !gaveUp {
				r.breaks("detached-after-unmount", "the volume %s is detached from %s, which runs and has it mounted", volume, id)
			}
			m.unplug(volume)
		}
		delete(r.unwanted, name)
		r.store.Remove(apiserver.Attachments, "", name, uid)
	})
}

// isAttached reports whether the pod's volume is attached to its node. It is true for pods without
// one.
func (r *Run) isAttached(pod *corev1.Pod) bool {
	volume := volumeOf(pod)
	if volume == "" {
		return true
	}
	object := r.store.Get(apiserver.Attachments, "", "csi-"+volume+"-"+pod.Spec.NodeName)
	if object == nil || object.Meta.GetDeletionTimestamp() != nil {
		return false
	}
	attachment, _ := object.Typed.(*storagev1.VolumeAttachment)
	return attachment.Status.Attached
}

// checkUnmounted holds that no function ends an instance that has a volume mounted or attached,
// before the end of the termination grace period of its claim.
func (r *Run) checkUnmounted(c *call) {
	if c.isKubernetes() || c.operation() != "TerminateInstances" {
		return
	}
	form, err := url.ParseQuery(string(c.body))
	if err != nil {
		r.violate("%s sends what is no form: %v", c.name, err)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(form)) {
		m := r.machines[form.Get(key)]
		if !strings.HasPrefix(key, "InstanceId.") || m == nil || m.off || r.mayUnplug(m) {
			continue
		}
		if attached, mounted := r.attachedTo(m), m.mounted(); len(attached) > 0 || len(mounted) > 0 {
			r.breaks("unmounted-first", "%s ends %s, which has %v attached, and %v mounted", c.name, form.Get(key), attached,
				mounted)
		}
	}
}

// attachedTo lists the attachments that the machine has had for long enough to be seen.
func (r *Run) attachedTo(m *machine) []string {
	var names []string
	for _, attachment := range apiserver.List[storagev1.VolumeAttachment](r.store, apiserver.Attachments) {
		created := attachment.CreationTimestamp.Time
		if attachment.Spec.NodeName == m.instance.PrivateDNSName && created.After(m.instance.Launched) &&
			time.Since(created) > seenFor {
			names = append(names, attachment.Name)
		}
	}
	return names
}

// mayUnplug reports whether the machine's claim has reached the end of its termination grace
// period, or its kubelet was silent, so that nobody waits for its pods any more.
func (r *Run) mayUnplug(m *machine) bool {
	if m.cut || time.Since(m.returned) < time.Minute {
		return true
	}
	for _, claim := range apiserver.List[api.NodeClaim](r.store, apiserver.NodeClaims) {
		if claim.Status.ProviderID != m.instance.ProviderID() {
			continue
		}
		ends, err := time.Parse(time.RFC3339, claim.Annotations[api.NodeClaimTerminationTimestampAnnotationKey])
		// The clock of the function may be ahead.
		return err == nil && time.Now().Add(r.weather.clocks).After(ends)
	}
	return false
}

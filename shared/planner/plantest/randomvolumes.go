package plantest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const ebsDriver = "ebs.csi.aws.com"

// makeStorage makes three classes. Two wait for their first consumer, and one of these is limited
// to some zones. The third binds at once.
func (g *generator) makeStorage() {
	wait, immediate := storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	limited := storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: "zonal"},
		Provisioner:       ebsDriver,
		VolumeBindingMode: &wait,
	}
	for _, zone := range someOf(g, g.zones...) {
		limited.AllowedTopologies = append(
			limited.AllowedTopologies,
			corev1.TopologySelectorTerm{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
				{Key: oneOf(g, corev1.LabelTopologyZone, "topology.ebs.csi.aws.com/zone"), Values: []string{zone}},
			}},
		)
	}
	g.s.StorageClasses = []storagev1.StorageClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "gp3"}, Provisioner: ebsDriver, VolumeBindingMode: &wait},
		limited,
		{ObjectMeta: metav1.ObjectMeta{Name: "at-once"}, Provisioner: ebsDriver, VolumeBindingMode: &immediate},
	}
}

// giveVolumes gives each replica of some apps a claim of its own.
func (g *generator) giveVolumes(a *app) {
	if !g.chance(14) {
		return
	}
	kind := g.IntN(10)
	a.claimFor = func(pod *corev1.Pod) {
		class := oneOf(g, "gp3", "zonal")
		if kind < 2 {
			pod.Spec.Volumes = append(
				pod.Spec.Volumes,
				corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
					VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claimSpec(class)},
				}}},
			)
			return
		}
		claim := corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: "data-" + pod.Name, UID: uid("pvc", pod.Name)},
			Spec:       claimSpec(class),
		}
		claim.Status.Phase = corev1.ClaimPending
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
		}})
		switch {
		case kind < 5:
			g.bind(&claim, g.zonalVolume(pod.Name))
		case kind == 5 && g.chance(40):
			g.breakClaim(&claim)
			if claim.Name == "" {
				return
			}
		}
		g.s.PersistentVolumeClaims = append(g.s.PersistentVolumeClaims, claim)
	}
}

func claimSpec(class string) corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class,
		AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
	}
}

// breakClaim breaks a claim so that its pod cannot be planned. It removes the name of a claim that
// must not exist.
func (g *generator) breakClaim(claim *corev1.PersistentVolumeClaim) {
	switch g.IntN(6) {
	case 0:
		claim.Name = ""
	case 1:
		claim.DeletionTimestamp, claim.Finalizers = pointer(deletedAt()), []string{"kubernetes.io/pvc-protection"}
	case 2:
		claim.Status.Phase = corev1.ClaimLost
		claim.Spec.VolumeName = "gone"
	case 3:
		claim.Spec.StorageClassName = pointer("at-once")
	case 4:
		claim.Spec.StorageClassName = pointer("no-such-class")
	case 5:
		claim.Spec.VolumeName = "gone"
		claim.Annotations = map[string]string{bindCompleted: "yes"}
	}
}

func (g *generator) bind(claim *corev1.PersistentVolumeClaim, volume corev1.PersistentVolume) {
	claim.Spec.VolumeName = volume.Name
	claim.Status.Phase = corev1.ClaimBound
	claim.Annotations = map[string]string{bindCompleted: "yes"}
	volume.Spec.ClaimRef = &corev1.ObjectReference{
		Kind:      "PersistentVolumeClaim",
		Namespace: claim.Namespace,
		Name:      claim.Name,
		UID:       claim.UID,
	}
	volume.Status.Phase = corev1.VolumeBound
	g.s.PersistentVolumes = append(g.s.PersistentVolumes, volume)
}

// zonalVolume returns a volume of one zone. Its node affinity or its label names the zone.
func (g *generator) zonalVolume(name string) corev1.PersistentVolume {
	zone := oneOf(g, g.zones...)
	volume := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name}, Spec: corev1.PersistentVolumeSpec{
		PersistentVolumeSource: corev1.PersistentVolumeSource{
			CSI: &corev1.CSIPersistentVolumeSource{Driver: ebsDriver, VolumeHandle: "vol-" + name},
		},
	}}
	if g.chance(25) {
		volume.Labels = map[string]string{corev1.LabelTopologyZone: zone}
		return volume
	}
	key := oneOf(g, corev1.LabelTopologyZone, "topology.ebs.csi.aws.com/zone")
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{
		Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
				},
			},
		}},
	}
	return volume
}

// localVolume returns a volume on a disk of one node.
func localVolume(pod, hostname string) corev1.PersistentVolume {
	return corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "local-" + pod}, Spec: corev1.PersistentVolumeSpec{
		PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt/" + pod}},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{hostname}},
				},
			},
		}}},
	}}
}

// giveLocalVolume gives a pod a volume on a node's disk.
func (g *generator) giveLocalVolume(pod *corev1.Pod, hostname string) {
	claim := corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: fmt.Sprintf("local-%s", pod.Name)},
		Spec:       claimSpec("gp3"),
	}
	g.bind(&claim, localVolume(pod.Name, hostname))
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "local", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
	}})
	g.s.PersistentVolumeClaims = append(g.s.PersistentVolumeClaims, claim)
}

// csiNode returns the CSINode with a node's limit of attached volumes.
func csiNode(node string, count int32) storagev1.CSINode {
	return storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
			{Name: ebsDriver, NodeID: "i-" + node, Allocatable: &storagev1.VolumeNodeResources{Count: &count}},
		}},
	}
}

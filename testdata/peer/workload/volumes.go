package workload

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/plan"
)

const (
	ebsDriver = "ebs.csi.aws.com"
	// bindCompleted is what Kubernetes' volume controller annotates a claim with that it has bound.
	bindCompleted = "pv.kubernetes.io/bind-completed"
)

// zones are those of the instance types.
var zones = [...]string{"us-east-1a", "us-east-1b", "us-east-1c"}

// zonalVolumes gives each pod a claim of its own: by turns one that is bound to a volume in a zone,
// and one that waits for its pod, of a class whose volumes can be in two zones.
func zonalVolumes(count int, capacityTypes []string, types []catalog.InstanceType) *plan.Snapshot {
	random := newRandom()
	s := newSnapshot(nil, types, newPool("default", capacityTypes))
	waits := storagev1.VolumeBindingWaitForFirstConsumer
	s.StorageClasses = []storagev1.StorageClass{
		{ObjectMeta: metav1.ObjectMeta{Name: "gp3"}, Provisioner: ebsDriver, VolumeBindingMode: &waits},
		{
			ObjectMeta:        metav1.ObjectMeta{Name: "two-zones"},
			Provisioner:       ebsDriver,
			VolumeBindingMode: &waits,
			AllowedTopologies: []corev1.TopologySelectorTerm{
				{
					MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
						{Key: corev1.LabelTopologyZone, Values: zones[:2]},
					},
				},
			},
		},
	}
	for i := range count {
		name := podName("database", i)
		pod := newPod(name, diverseRequests(random), map[string]string{"app": "database"})
		pod.Spec.Volumes = []corev1.Volume{
			{
				Name: "data",
				VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
				},
			},
		}
		s.Pods = append(s.Pods, pod)
		claim := corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: name, Annotations: map[string]string{}},
		}
		class := "two-zones"
		if i%2 == 0 {
			class = "gp3"
			claim.Spec.VolumeName = "pv-" + name
			claim.Annotations[bindCompleted] = "yes"
			claim.Status.Phase = corev1.ClaimBound
			s.PersistentVolumes = append(s.PersistentVolumes, zonalVolume(claim.Spec.VolumeName, zones[i/2%len(zones)]))
		}
		claim.Spec.StorageClassName = &class
		s.PersistentVolumeClaims = append(s.PersistentVolumeClaims, claim)
	}
	return s
}

func zonalVolume(name, zone string) corev1.PersistentVolume {
	volume := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	volume.Spec.StorageClassName = "gp3"
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: ebsDriver, VolumeHandle: "vol-" + name}
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{
		Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{
				MatchExpressions: []corev1.NodeSelectorRequirement{
					{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
				},
			},
		}},
	}
	volume.Status.Phase = corev1.VolumeBound
	return volume
}

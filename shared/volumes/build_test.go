package volumes

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	zone     = corev1.LabelTopologyZone
	hostname = corev1.LabelHostname
	csi      = EBSDriver
)

// cluster is what an Index is made of.
type cluster struct {
	claims   []corev1.PersistentVolumeClaim
	volumes  []corev1.PersistentVolume
	classes  []storagev1.StorageClass
	csiNodes []storagev1.CSINode
}

func (c *cluster) index() *Index { return New(c.claims, c.volumes, c.classes, c.csiNodes) }

// pod uses a claim for each name; a name that starts with "~" is of an ephemeral volume, with a
// template of the class behind the colon.
func pod(names ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web-uid"}}
	for _, name := range names {
		volume := corev1.Volume{Name: name}
		if rest, ok := strings.CutPrefix(name, "~"); ok {
			name, class, _ := strings.Cut(rest, ":")
			volume.Name = name
			volume.Ephemeral = &corev1.EphemeralVolumeSource{
				VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
					Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class},
				},
			}
		} else {
			volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}
		}
		p.Spec.Volumes = append(p.Spec.Volumes, volume)
	}
	return p
}

func claim(name string, changes ...func(*corev1.PersistentVolumeClaim)) corev1.PersistentVolumeClaim {
	c := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "uid-of-claim"}}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	for _, change := range changes {
		change(&c)
	}
	return c
}

func boundTo(volume string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) {
		c.Spec.VolumeName, c.Status.Phase = volume, corev1.ClaimBound
		c.Annotations = map[string]string{bindCompleted: "yes"}
	}
}

func ofClass(class string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &class }
}

func volume(name string, changes ...func(*corev1.PersistentVolume)) corev1.PersistentVolume {
	v := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	for _, change := range changes {
		change(&v)
	}
	return v
}

// at adds a node affinity term; its expressions are "key=a,b".
func at(expressions ...string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		var term corev1.NodeSelectorTerm
		for _, expression := range expressions {
			key, values, _ := strings.Cut(expression, "=")
			term.MatchExpressions = append(
				term.MatchExpressions,
				corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: strings.Split(values, ",")},
			)
		}
		if v.Spec.NodeAffinity == nil {
			v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{}}
		}
		v.Spec.NodeAffinity.Required.NodeSelectorTerms = append(v.Spec.NodeAffinity.Required.NodeSelectorTerms, term)
	}
}

func local(v *corev1.PersistentVolume) {
	v.Spec.Local = &corev1.LocalVolumeSource{Path: "/mnt/disks/0"}
}

func ebs(handle string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: EBSDriver, VolumeHandle: handle}
	}
}

func labelled(key, value string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) { metav1.SetMetaDataLabel(&v.ObjectMeta, key, value) }
}

func available(class string) func(*corev1.PersistentVolume) {
	return func(v *corev1.PersistentVolume) {
		v.Spec.StorageClassName, v.Status.Phase = class, corev1.VolumeAvailable
	}
}

// class waits for the first consumer; each topology is expressions "key=a,b" separated by "&".
func class(name, provisioner string, topologies ...string) storagev1.StorageClass {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	s := storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode,
	}
	for _, topology := range topologies {
		var term corev1.TopologySelectorTerm
		for expression := range strings.SplitSeq(topology, "&") {
			if key, values, ok := strings.Cut(expression, "="); ok {
				term.MatchLabelExpressions = append(
					term.MatchLabelExpressions,
					corev1.TopologySelectorLabelRequirement{Key: key, Values: strings.Split(values, ",")},
				)
			}
		}
		s.AllowedTopologies = append(s.AllowedTopologies, term)
	}
	return s
}

func immediate(s storagev1.StorageClass) storagev1.StorageClass {
	mode := storagev1.VolumeBindingImmediate
	s.VolumeBindingMode = &mode
	return s
}

func byDefault(s storagev1.StorageClass) storagev1.StorageClass {
	s.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	return s
}

func text(alternatives []scheduling.Requirements) string {
	if alternatives == nil {
		return "anywhere"
	}
	var parts []string
	for _, a := range alternatives {
		parts = append(parts, a.String())
	}
	return strings.NewReplacer(zone, "zone", hostname, "host").Replace(strings.Join(parts, " | "))
}

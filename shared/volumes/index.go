package volumes

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Index resolves the claims, volumes and classes of pods. It never changes after New, so goroutines
// may share it.
type Index struct {
	claims  map[string]*corev1.PersistentVolumeClaim
	volumes map[string]*corev1.PersistentVolume
	classes map[string]*storagev1.StorageClass
	// available holds the volumes that any matching claim may take, by class and sorted by name.
	// reserved holds the volumes that name their claim, by its key.
	available, reserved map[string][]located
	// defaultClass is the class of a claim that names none; nil if there is no default.
	defaultClass *storagev1.StorageClass
	limits       map[string]map[string]int
}

// New returns an Index of the objects of a cluster. It keeps pointers to the slices' elements and
// changes none of them.
func New(
	claims []corev1.PersistentVolumeClaim, volumes []corev1.PersistentVolume, classes []storagev1.StorageClass,
	csiNodes []storagev1.CSINode,
) *Index {
	index := &Index{
		claims:    make(map[string]*corev1.PersistentVolumeClaim, len(claims)),
		volumes:   make(map[string]*corev1.PersistentVolume, len(volumes)),
		classes:   make(map[string]*storagev1.StorageClass, len(classes)),
		available: map[string][]located{},
		reserved:  map[string][]located{},
		limits:    make(map[string]map[string]int, len(csiNodes)),
	}
	for i := range claims {
		index.claims[claimKey(claims[i].Namespace, claims[i].Name)] = &claims[i]
	}
	for i := range volumes {
		volume := &volumes[i]
		index.volumes[volume.Name] = volume
	}
	index.locate(volumes)
	for i := range classes {
		index.classes[classes[i].Name] = &classes[i]
		if isDefault(&classes[i]) && (index.defaultClass == nil || preferredDefault(&classes[i], index.defaultClass)) {
			index.defaultClass = &classes[i]
		}
	}
	for i := range csiNodes {
		index.limits[csiNodes[i].Name] = limitsOf(&csiNodes[i])
	}
	return index
}

// Limits returns the number of volumes that the node can attach for each CSI driver, from its
// CSINode. A driver that is not in the map has no known limit, and neither has a node without a
// CSINode. The caller must not change the map.
func (index *Index) Limits(nodeName string) map[string]int { return index.limits[nodeName] }

// mostVolumes is the most EBS volumes that any instance type attaches. A node's own plug-in says how many its
// node attaches, so that a compromised node may say more.
// https://docs.aws.amazon.com/ebs/latest/userguide/volume_limits.html
const mostVolumes = 128

func limitsOf(csiNode *storagev1.CSINode) map[string]int {
	limits := map[string]int{}
	for i := range csiNode.Spec.Drivers {
		driver := &csiNode.Spec.Drivers[i]
		if driver.Allocatable != nil && driver.Allocatable.Count != nil {
			limits[driver.Name] = max(0, int(*driver.Allocatable.Count))
			if driver.Name == EBSDriver {
				limits[driver.Name] = min(limits[driver.Name], mostVolumes)
			}
		}
	}
	return limits
}

func claimKey(namespace, name string) string { return namespace + "/" + name }

// classOfVolume returns the volume's class. The older annotation has priority over the field.
func classOfVolume(volume *corev1.PersistentVolume) string {
	if class, ok := volume.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return class
	}
	return volume.Spec.StorageClassName
}

// classOfClaim returns the class that a claim names, and whether it names one. An empty name
// requests a volume without a class.
func classOfClaim(claim *corev1.PersistentVolumeClaim) (string, bool) {
	if class, ok := claim.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return class, true
	}
	if claim.Spec.StorageClassName == nil {
		return "", false
	}
	return *claim.Spec.StorageClassName, true
}

// classFor returns the name and object of a claim's class: the one that it names, or the default
// that the API server will set. The name is empty for a claim without a class, and the object is
// nil where there is no such class.
func (index *Index) classFor(claim *corev1.PersistentVolumeClaim) (string, *storagev1.StorageClass) {
	name, named := classOfClaim(claim)
	if !named {
		if index.defaultClass == nil {
			return "", nil
		}
		return index.defaultClass.Name, index.defaultClass
	}
	return name, index.classes[name]
}

// isDefault reports whether an annotation, by its current or older name, makes the class the
// default.
func isDefault(class *storagev1.StorageClass) bool {
	return class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
		class.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
}

// preferredDefault orders default classes as Kubernetes does: the newest first, then by name.
func preferredDefault(a, b *storagev1.StorageClass) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.After(b.CreationTimestamp.Time)
	}
	return a.Name < b.Name
}

// provisions reports whether volumes of the class are created on demand.
func provisions(class *storagev1.StorageClass) bool {
	return class.Provisioner != "" && class.Provisioner != "kubernetes.io/no-provisioner"
}

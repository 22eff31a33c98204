package volumes

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Index finds what pods' volumes refer to. It never changes after New, so that several goroutines
// may ask it at once.
type Index struct {
	claims  map[string]*corev1.PersistentVolumeClaim
	volumes map[string]*corev1.PersistentVolume
	classes map[string]*storagev1.StorageClass
	// available are the volumes that any claim that they fit may take, by their class, sorted by
	// name; reserved those that name their claim, by its key.
	available, reserved map[string][]located
	// defaultClass is what a claim gets that names no class; nil if there is none.
	defaultClass *storagev1.StorageClass
	limits       map[string]map[string]int
}

// New makes an Index of the objects of a cluster. It keeps pointers to the slices' elements and
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

// Limits is how many volumes of each CSI driver the node can attach, by the driver's name, from the
// node's CSINode. No limit is known of a driver that is absent, nor of any while the node has no
// CSINode. The caller must not change the map.
func (index *Index) Limits(nodeName string) map[string]int { return index.limits[nodeName] }

func limitsOf(csiNode *storagev1.CSINode) map[string]int {
	limits := map[string]int{}
	for i := range csiNode.Spec.Drivers {
		driver := &csiNode.Spec.Drivers[i]
		if driver.Allocatable != nil && driver.Allocatable.Count != nil {
			limits[driver.Name] = max(0, int(*driver.Allocatable.Count))
		}
	}
	return limits
}

func claimKey(namespace, name string) string { return namespace + "/" + name }

// classOfVolume is the class that a volume is of; the annotation is the field's old form and still
// goes before it.
func classOfVolume(volume *corev1.PersistentVolume) string {
	if class, ok := volume.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return class
	}
	return volume.Spec.StorageClassName
}

// classOfClaim is the class that a claim names, and whether it names one; an empty name asks for a
// volume of no class.
func classOfClaim(claim *corev1.PersistentVolumeClaim) (string, bool) {
	if class, ok := claim.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return class, true
	}
	if claim.Spec.StorageClassName == nil {
		return "", false
	}
	return *claim.Spec.StorageClassName, true
}

// classFor is the class that a claim is of: the one it names, or the default that the API server
// will write into it. The name is empty if it is of none, the class nil if there is none of the
// name.
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

// isDefault reads the annotation that makes a class the default, by its present and its old name.
func isDefault(class *storagev1.StorageClass) bool {
	return class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
		class.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
}

// preferredDefault says which of two defaults Kubernetes takes: the newer, or the first by name.
func preferredDefault(a, b *storagev1.StorageClass) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.After(b.CreationTimestamp.Time)
	}
	return a.Name < b.Name
}

// provisions reports whether volumes of the class are made when a claim asks for one.
func provisions(class *storagev1.StorageClass) bool {
	return class.Provisioner != "" && class.Provisioner != "kubernetes.io/no-provisioner"
}

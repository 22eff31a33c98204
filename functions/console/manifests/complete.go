package manifests

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// complete adds what needs all of the files: what controllers make of the objects, and
// what admission takes from other objects.
func (r *reader) complete() {
	r.expand()
	r.setPriorities()
	r.setStorageClasses()
	r.addNamespaces()
}

// setPriorities gives pods the priority that their class has.
func (r *reader) setPriorities() {
	values := map[string]int32{"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
	var global *int32
	for i := range r.priorityClasses {
		class := &r.priorityClasses[i]
		values[class.Name] = class.Value
		// Of several, which an API server refuses, the lowest counts, as it does there.
		if class.GlobalDefault && (global == nil || class.Value < *global) {
			global = &class.Value
		}
	}
	for i := range r.manifests.Pods {
		pod := &r.manifests.Pods[i]
		if pod.Spec.Priority != nil {
			continue
		}
		if value, ok := values[pod.Spec.PriorityClassName]; ok {
			pod.Spec.Priority = &value
		} else if pod.Spec.PriorityClassName == "" {
			pod.Spec.Priority = global
		}
	}
}

// defaultClassAnnotation marks the StorageClass of claims that name none.
const defaultClassAnnotation = "storageclass.kubernetes.io/is-default-class"

// setStorageClasses gives claims that name no class the default one. An empty name is a
// choice: no class.
func (r *reader) setStorageClasses() {
	var marked []*storagev1.StorageClass
	for i := range r.manifests.StorageClasses {
		if class := &r.manifests.StorageClasses[i]; class.Annotations[defaultClassAnnotation] == "true" {
			marked = append(marked, class)
		}
	}
	if len(marked) == 0 {
		return
	}
	// Of several the newest counts, then the first by name.
	slices.SortFunc(marked, func(a, b *storagev1.StorageClass) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for i := range r.manifests.PersistentVolumeClaims {
		if claim := &r.manifests.PersistentVolumeClaims[i]; claim.Spec.StorageClassName == nil {
			claim.Spec.StorageClassName = &marked[0].Name
		}
	}
	for i := range r.manifests.Pods {
		r.manifests.Pods[i].Spec.Volumes = withClass(r.manifests.Pods[i].Spec.Volumes, marked[0].Name)
	}
}

// withClass are the volumes, with the class in the templates of claims that name none.
// Pods share volumes: what changes is copied.
func withClass(volumes []corev1.Volume, class string) []corev1.Volume {
	copied := false
	for i := range volumes {
		ephemeral := volumes[i].Ephemeral
		if ephemeral == nil || ephemeral.VolumeClaimTemplate == nil ||
			ephemeral.VolumeClaimTemplate.Spec.StorageClassName != nil {
			continue
		}
		if !copied {
			volumes, copied = slices.Clone(volumes), true
		}
		volumes[i].Ephemeral = ephemeral.DeepCopy()
		volumes[i].Ephemeral.VolumeClaimTemplate.Spec.StorageClassName = &class
	}
	return volumes
}

// addNamespaces adds those that objects are in and no file has, and gives each the label
// that an API server gives it.
func (r *reader) addNamespaces() {
	known := map[string]bool{}
	for i := range r.manifests.Namespaces {
		known[r.manifests.Namespaces[i].Name] = true
	}
	for i := range r.manifests.Pods {
		if name := r.manifests.Pods[i].Namespace; !known[name] {
			known[name] = true
			namespace := corev1.Namespace{}
			namespace.Name = name
			r.manifests.Namespaces = append(r.manifests.Namespaces, namespace)
		}
	}
	for i := range r.manifests.Namespaces {
		namespace := &r.manifests.Namespaces[i]
		if namespace.Labels == nil {
			namespace.Labels = map[string]string{}
		}
		namespace.Labels[corev1.LabelMetadataName] = namespace.Name
	}
}

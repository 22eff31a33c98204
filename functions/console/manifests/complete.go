package manifests

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/whittle-dev/whittle/shared/snapshot"
)

// complete adds what depends on other objects: the pods of controllers, and the effects of
// admission.
func (r *reader) complete() {
	r.expand()
	r.setSelectors()
	r.setPriorities()
	r.setRequests()
	r.setGenerations()
	r.setStorageClasses()
	r.bindVolumes()
	r.addNamespaces()
	r.convertOld()
}

// setPriorities sets the pods' priorities from their classes.
func (r *reader) setPriorities() {
	values := map[string]int32{"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
	var global *int32
	for i := range r.priorityClasses {
		class := &r.priorityClasses[i]
		values[class.Name] = class.Value
		// An API server refuses several default classes. If they exist, it uses the lowest.
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

// setRequests gives waiting pods the requests that the LimitRanges of their namespace set. Package
// snapshot does so for DaemonSets.
func (r *reader) setRequests() {
	if len(r.manifests.LimitRanges) == 0 {
		return
	}
	for i := range r.manifests.Pods {
		if pod := &r.manifests.Pods[i]; pod.Spec.NodeName == "" {
			snapshot.SetDefaultRequests(&pod.Spec, pod.Namespace, r.manifests.LimitRanges)
		}
	}
}

// setGenerations says of running pods without a generation that they may have changed since they were
// made. A cluster gives each pod one, and a file that a person wrote does not.
func (r *reader) setGenerations() {
	for i := range r.manifests.Pods {
		if pod := &r.manifests.Pods[i]; pod.Spec.NodeName != "" && pod.Generation == 0 {
			pod.Generation = 2
		}
	}
}

// defaultClassAnnotation marks the StorageClass of claims without a class.
const defaultClassAnnotation = "storageclass.kubernetes.io/is-default-class"

// setStorageClasses sets the default class of claims without one. An empty name is a choice: no
// class.
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
	// Of several default classes the newest counts, then the first by name.
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

// withClass returns the volumes with the class in claim templates without one. Pods share volumes,
// so it copies what it changes.
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

// addNamespaces adds namespaces that objects name and no file has. It sets the label that an API
// server sets.
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

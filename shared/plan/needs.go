package plan

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Details are the kinds of objects that only some pods make a plan need. They are read where a pod
// needs them. What was not read is never taken for absent.
type Details struct {
	// Volumes are claims, volumes, storage classes and CSI nodes.
	Volumes bool `json:"volumes,omitempty"`
	// Namespaces are the namespaces with their labels.
	Namespaces bool `json:"namespaces,omitempty"`
}

// NeedsOf returns what a plan needs in order to place the pods beside those that the nodes run.
// Volumes are needed where one of the pods mounts a claim. Namespaces are needed where one selects
// others by them, or where a running pod's required anti-affinity might select one of the pods.
func NeedsOf(pods []corev1.Pod, nodes []Node) Details {
	var needs Details
	for i := range pods {
		needs.Volumes = needs.Volumes || MountsClaim(&pods[i])
		needs.Namespaces = needs.Namespaces || slices.ContainsFunc(terms(&pods[i]), selectsNamespaces)
	}
	needs.Namespaces = needs.Namespaces || len(pods) > 0 && slices.ContainsFunc(nodes, repelsByNamespace)
	return needs
}

// NeedsToMove returns what a plan needs in which all pods of nodes with a claim may have to move, beside
// those of the snapshot that wait.
func NeedsToMove(s *Snapshot) Details {
	needs, moves := NeedsOf(s.Pods, s.Nodes), false
	for i := range s.Nodes {
		if node := &s.Nodes[i]; node.NodeClaim != nil && len(node.Pods) > 0 {
			needs, moves = needs.Or(NeedsOf(node.Pods, nil)), true
		}
	}
	needs.Namespaces = needs.Namespaces || moves && slices.ContainsFunc(s.Nodes, repelsByNamespace)
	return needs
}

// Or returns the details that are in either.
func (d Details) Or(other Details) Details {
	return Details{Volumes: d.Volumes || other.Volumes, Namespaces: d.Namespaces || other.Namespaces}
}

// And returns the details that are in both.
func (d Details) And(other Details) Details {
	return Details{Volumes: d.Volumes && other.Volumes, Namespaces: d.Namespaces && other.Namespaces}
}

// Not returns the other details.
func (d Details) Not() Details { return Details{Volumes: !d.Volumes, Namespaces: !d.Namespaces} }

// String names the kinds, and is empty for none.
func (d Details) String() string {
	var kinds []string
	if d.Volumes {
		kinds = append(kinds, "volumes")
	}
	if d.Namespaces {
		kinds = append(kinds, "namespaces")
	}
	return strings.Join(kinds, " and ")
}

// MountsClaim reports whether the pod mounts a PersistentVolumeClaim.
func MountsClaim(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(volume corev1.Volume) bool {
		return volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil
	})
}

// repelsByNamespace reports whether a pod of the node keeps pods away that it selects by namespace.
func repelsByNamespace(node Node) bool {
	return slices.ContainsFunc(node.Pods, func(pod corev1.Pod) bool {
		affinity := pod.Spec.Affinity
		return affinity != nil && affinity.PodAntiAffinity != nil &&
			slices.ContainsFunc(affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, selectsNamespaces)
	})
}

func selectsNamespaces(term corev1.PodAffinityTerm) bool { return term.NamespaceSelector != nil }

// terms returns all affinity and anti-affinity terms of the pod.
func terms(pod *corev1.Pod) []corev1.PodAffinityTerm {
	affinity := pod.Spec.Affinity
	if affinity == nil {
		return nil
	}
	var all []corev1.PodAffinityTerm
	var preferred []corev1.WeightedPodAffinityTerm
	if near := affinity.PodAffinity; near != nil {
		all = append(all, near.RequiredDuringSchedulingIgnoredDuringExecution...)
		preferred = append(preferred, near.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	if away := affinity.PodAntiAffinity; away != nil {
		all = append(all, away.RequiredDuringSchedulingIgnoredDuringExecution...)
		preferred = append(preferred, away.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	for _, term := range preferred {
		all = append(all, term.PodAffinityTerm)
	}
	return all
}

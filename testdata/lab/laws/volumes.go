package laws

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// outside lists the running pods whose volume is in another zone than their node.
func outside(w *World) []string {
	var wrong []string
	zones := map[string]string{}
	for _, node := range w.Nodes {
		zones[node.Name] = node.Labels[corev1.LabelTopologyZone]
	}
	bound := w.bound()
	for _, pod := range w.Pods {
		zone, known := zones[pod.Spec.NodeName]
		if !known || pod.Status.Phase != corev1.PodRunning {
			continue
		}
		for _, volume := range volumesOf(pod, bound) {
			if within := zonesOf(volume); !slices.Contains(within, zone) {
				wrong = append(wrong, fmt.Sprintf("pod %s runs in zone %s, and its volume %s is in %s", pod.Name, zone,
					volume.Name, strings.Join(within, ", ")))
			}
		}
	}
	return wrong
}

// leaves reports whether the node is being deleted.
func (w *World) leaves(name string) bool {
	return slices.ContainsFunc(w.Nodes, func(node *corev1.Node) bool {
		return node.Name == name && node.DeletionTimestamp != nil
	})
}

// bound are the volumes by their claims' namespaces and names.
func (w *World) bound() map[string]*corev1.PersistentVolume {
	bound := map[string]*corev1.PersistentVolume{}
	for _, volume := range w.Volumes {
		if claim := volume.Spec.ClaimRef; claim != nil {
			bound[claim.Namespace+"/"+claim.Name] = volume
		}
	}
	return bound
}

// volumesOf returns the volumes that are bound to the pod's claims.
func volumesOf(pod *corev1.Pod, bound map[string]*corev1.PersistentVolume) []*corev1.PersistentVolume {
	var volumes []*corev1.PersistentVolume
	for i := range pod.Spec.Volumes {
		source := pod.Spec.Volumes[i].PersistentVolumeClaim
		if source != nil && bound[pod.Namespace+"/"+source.ClaimName] != nil {
			volumes = append(volumes, bound[pod.Namespace+"/"+source.ClaimName])
		}
	}
	return volumes
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
func shared(w *World) []string {
	var wrong []string
	at := map[string]string{}
	for _, one := range w.Attachments {
		volume, node := one.Spec.Source.PersistentVolumeName, one.Spec.NodeName
		if volume == nil || !one.Status.Attached || !slices.ContainsFunc(w.Instances, func(i ec2.Instance) bool {
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

// unattached lists the attachments that no pod needs, and the volumes that are not attached to the nodes of
// their pods. A node that leaves keeps its attachments until its pods have ended.
func unattached(w *World) []string {
	var wrong []string
	needed, waits := w.volumes()
	for _, one := range w.Attachments {
		volume := one.Spec.Source.PersistentVolumeName
		if volume != nil && waits[*volume] || one.DeletionTimestamp != nil && w.young(one.DeletionTimestamp.Time) {
			continue
		}
		switch {
		case volume != nil && needed[*volume] == one.Spec.NodeName:
			if one.Status.Attached {
				delete(needed, *volume)
			}
		case !w.leaves(one.Spec.NodeName):
			wrong = append(wrong, fmt.Sprintf("no pod needs the attachment %s to node %s", one.Name, one.Spec.NodeName))
		}
	}
	maps.DeleteFunc(needed, func(volume, node string) bool {
		return waits[volume] || node == "" // a pod without a node has no use for its volume
	})
	for _, volume := range slices.Sorted(maps.Keys(needed)) {
		wrong = append(wrong, fmt.Sprintf("volume %s is not attached to its pod's node %s", volume, needed[volume]))
	}
	return wrong
}

// volumes are the nodes that volumes have to be attached to. waits has those of pods that came a
// short time ago, and of pods that end. Kubernetes takes the volume of an ended machine away before
// the pod has gone, because no kubelet says so.
func (w *World) volumes() (needed map[string]string, waits map[string]bool) {
	needed, waits = map[string]string{}, map[string]bool{}
	bound := w.bound()
	for _, pod := range w.Pods {
		for _, volume := range volumesOf(pod, bound) {
			if pod.DeletionTimestamp != nil && needed[volume.Name] != "" {
				continue // another pod has it by now
			}
			needed[volume.Name] = pod.Spec.NodeName
			waits[volume.Name] = pod.DeletionTimestamp != nil ||
				pod.Status.Phase != corev1.PodRunning && w.unmounts(pod.CreationTimestamp.Time)
		}
	}
	return needed, waits
}

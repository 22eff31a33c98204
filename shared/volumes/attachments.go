package volumes

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	// EBSDriver is the driver of EBS volumes.
	EBSDriver      = "ebs.csi.aws.com"
	portworxDriver = "pxd.portworx.com"
)

// Attachment is a volume that a CSI driver attaches to the node of a pod.
type Attachment struct {
	// Driver is the driver's name, as in CSINodes.
	Driver string
	// Volume is the driver's handle of the volume, or "claim NAMESPACE/NAME" for a future volume.
	Volume string
}

// Attachments returns the distinct volumes of the pod that count against attachment limits, sorted.
// A volume with an unknown driver does not count, as in kube-scheduler for pods of a node. CSI
// ephemeral volumes in the pod's definition never count.
func (index *Index) Attachments(pod *corev1.Pod) []Attachment {
	var attachments []Attachment
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		var attachment Attachment
		if name, ok := claimName(pod, volume); ok {
			claim, exists := index.claims[claimKey(pod.Namespace, name)]
			if !exists && volume.Ephemeral != nil && volume.Ephemeral.VolumeClaimTemplate != nil {
				claim, exists = fromTemplate(pod, name, volume.Ephemeral.VolumeClaimTemplate), true
			}
			if !exists || volume.Ephemeral != nil && index.claims[claimKey(pod.Namespace, name)] != nil &&
				!isOwnedBy(claim, pod) {
				continue
			}
			attachment = index.attachmentOf(claim)
		} else {
			attachment = migrated(volume.AWSElasticBlockStore, volume.PortworxVolume)
		}
		if attachment.Driver != "" && attachment.Volume != "" {
			attachments = append(attachments, attachment)
		}
	}
	slices.SortFunc(attachments, func(a, b Attachment) int {
		return cmp.Or(strings.Compare(a.Driver, b.Driver), strings.Compare(a.Volume, b.Volume))
	})
	return slices.Compact(attachments)
}

// attachmentOf uses the claim's volume, or its class where it has no volume yet.
func (index *Index) attachmentOf(claim *corev1.PersistentVolumeClaim) Attachment {
	if volume, ok := index.volumes[claim.Spec.VolumeName]; ok {
		if csi := volume.Spec.CSI; csi != nil {
			return Attachment{Driver: csi.Driver, Volume: csi.VolumeHandle}
		}
		return migrated(volume.Spec.AWSElasticBlockStore, volume.Spec.PortworxVolume)
	}
	_, class := index.classFor(claim)
	if class == nil || !provisions(class) {
		return Attachment{}
	}
	driver := class.Provisioner
	switch driver {
	case "kubernetes.io/aws-ebs":
		driver = EBSDriver
	case "kubernetes.io/portworx-volume":
		driver = portworxDriver
	}
	return Attachment{Driver: driver, Volume: "claim " + claimKey(claim.Namespace, claim.Name)}
}

// migrated returns the attachment of an in-tree volume, which a CSI driver attaches today.
func migrated(ebs *corev1.AWSElasticBlockStoreVolumeSource, portworx *corev1.PortworxVolumeSource) Attachment {
	switch {
	case ebs != nil:
		// The id may be a URL with the zone: aws://us-east-1a/vol-0123.
		id := ebs.VolumeID
		if rest, ok := strings.CutPrefix(id, "aws://"); ok {
			_, id, _ = strings.Cut(rest, "/")
			id = strings.Trim(id, "/")
		}
		return Attachment{Driver: EBSDriver, Volume: id}
	case portworx != nil:
		return Attachment{Driver: portworxDriver, Volume: portworx.VolumeID}
	}
	return Attachment{}
}

package volumes

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

const (
	// bindCompleted is the annotation of a claim whose binding is complete. kube-scheduler requires
	// it for a bound claim.
	bindCompleted = "pv.kubernetes.io/bind-completed"
	// selectedNode is the annotation of a claim whose volume is being created, with the name of the
	// node.
	selectedNode = "volume.kubernetes.io/selected-node"
	// nodeNameKey is the key of requirements on a node's name (scheduling.FromNodeSelectorTerm).
	nodeNameKey = "metadata.name"
)

// option is a place where one claim's volume can be.
type option struct {
	requirements scheduling.Requirements
	// candidates are the volumes of which the claim would take one at this place. They are empty
	// where the claim has its volume, or one will be created.
	candidates []*corev1.PersistentVolume
}

// placement holds the places of a claim's volume. Nil lists are no restriction.
type placement struct {
	volume string
	// anywhere applies to nodes without regard to their host. existing is set where the host
	// matters (Need.ExistingAlternatives).
	anywhere, existing []option
}

// place returns the places of the claim's volume. The error gives the problem and its remedy.
func (index *Index) place(claim *corev1.PersistentVolumeClaim) (placement, error) {
	if claim.Spec.VolumeName != "" {
		return index.placeBound(claim)
	}
	name, class := index.classFor(claim)
	if name == "" {
		if _, named := classOfClaim(claim); named {
			return placement{}, fmt.Errorf(
				"it is not bound, and spec.storageClassName is empty, so that no volume will be made for it: create a " +
					"PersistentVolume that fits, or claim from a StorageClass",
			)
		}
		return placement{}, fmt.Errorf(
			"it is not bound and names no StorageClass, and none is the default: set spec.storageClassName, or annotate a " +
				"StorageClass with storageclass.kubernetes.io/is-default-class: \"true\"",
		)
	}
	if class == nil {
		return placement{}, fmt.Errorf(
			"StorageClass %q, which spec.storageClassName names, does not exist: create it, or correct the name", name,
		)
	}
	if class.VolumeBindingMode == nil || *class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer {
		return placement{}, fmt.Errorf(
			"it is not bound yet, and its StorageClass %q binds at once (volumeBindingMode Immediate): wait until %s has "+
				"bound it, or use a class with volumeBindingMode WaitForFirstConsumer",
			name, provisionerText(class),
		)
	}
	return index.placeUnbound(claim, class)
}

func provisionerText(class *storagev1.StorageClass) string {
	if provisions(class) {
		return "the provisioner " + class.Provisioner
	}
	return "a PersistentVolume that fits"
}

// placeBound returns the place of the volume that a claim is bound to.
func (index *Index) placeBound(claim *corev1.PersistentVolumeClaim) (placement, error) {
	volume, ok := index.volumes[claim.Spec.VolumeName]
	switch {
	case !ok:
		return placement{}, fmt.Errorf(
			"PersistentVolume %q, which spec.volumeName names, does not exist: restore it, or delete the claim and "+
				"create it anew",
			claim.Spec.VolumeName,
		)
	case volume.DeletionTimestamp != nil:
		return placement{}, fmt.Errorf(
			"its PersistentVolume %q is being deleted (metadata.deletionTimestamp): create claim and volume anew",
			volume.Name,
		)
	}
	if _, bound := claim.Annotations[bindCompleted]; !bound {
		return placement{}, fmt.Errorf(
			"its binding to PersistentVolume %q is not finished (annotation %s is missing): wait for it; if it does not "+
				"come, see that the volume's claimRef, capacity, accessModes and storageClassName fit the claim",
			volume.Name, bindCompleted,
		)
	}
	terms, err := termsOf(volume)
	if err != nil {
		return placement{}, err
	}
	var place placement
	tied := false
	for _, requirements := range terms {
		free := withoutHost(requirements)
		tied = tied || isOnHost(volume) && len(free) < len(requirements)
		place.existing = append(place.existing, option{requirements: requirements})
		if isOnHost(volume) {
			requirements = free
		}
		place.anywhere = append(place.anywhere, option{requirements: requirements})
	}
	if !tied {
		place.existing = nil
	}
	return place, nil
}

// placeUnbound returns the places of a volume that waits for its first pod: those of existing
// volumes that fit the claim, and those where the class creates one.
func (index *Index) placeUnbound(
	claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass,
) (placement, error) {
	ready, err := index.ready(claim, class.Name)
	if err != nil {
		return placement{}, err
	}
	made, err := topologiesOf(class)
	if err != nil {
		return placement{}, err
	}
	node, selected := claim.Annotations[selectedNode]
	switch {
	case selected && provisions(class):
		// The volume is being created. Where that fails, or the node is gone, the annotation is
		// removed.
		place := placement{anywhere: made}
		for _, o := range made {
			requirements := o.requirements.Clone()
			requirements.Add(scheduling.In(nodeNameKey, node))
			place.existing = append(place.existing, option{requirements: requirements})
		}
		return place, nil
	case provisions(class):
		// Volumes tied to hosts offer existing nodes one more place, and new nodes none.
		return placement{anywhere: append(ready, made...)}, nil
	}
	var place placement
	for _, o := range ready {
		if free := withoutHost(o.requirements); len(free) == len(o.requirements) || !isOnHost(o.candidates[0]) {
			place.anywhere = append(place.anywhere, o)
		} else {
			place.existing = ready
		}
	}
	if len(ready) == 0 || place.existing != nil {
		// The class creates no volumes, but the provisioner of local volumes also runs on new
		// nodes.
		place.anywhere = append(place.anywhere, made...)
	}
	return place, nil
}

package volumes

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// located is a volume without a claim, with the places from which it can be reached.
type located struct {
	volume *corev1.PersistentVolume
	terms  []scheduling.Requirements
	// places holds a text for each term, which is equal for equal places.
	places []string
}

// locate finds the volumes to which claims may be bound. It skips volumes that no node can reach,
// and volumes that are being deleted. A volume from a manifest has no phase yet, and counts as
// available.
func (index *Index) locate(volumes []corev1.PersistentVolume) {
	for i := range volumes {
		volume := &volumes[i]
		free := volume.Spec.ClaimRef == nil && (volume.Status.Phase == corev1.VolumeAvailable || volume.Status.Phase == "")
		if volume.DeletionTimestamp != nil || !free && volume.Spec.ClaimRef == nil {
			continue
		}
		terms, err := termsOf(volume)
		if err != nil {
			continue
		}
		l := located{volume: volume, terms: terms}
		if free {
			for _, requirements := range terms {
				// A host's name restricts a host's own volume in another way, so the two never
				// share a place.
				l.places = append(l.places, fmt.Sprint(isOnHost(volume), signature(requirements, "")))
			}
			class := classOfVolume(volume)
			index.available[class] = append(index.available[class], l)
		} else {
			l.places = make([]string, len(terms))
			key := claimKey(volume.Spec.ClaimRef.Namespace, volume.Spec.ClaimRef.Name)
			index.reserved[key] = append(index.reserved[key], l)
		}
	}
	for _, lists := range []map[string][]located{index.available, index.reserved} {
		for _, list := range lists {
			slices.SortFunc(list, func(a, b located) int { return strings.Compare(a.volume.Name, b.volume.Name) })
		}
	}
}

// ready returns the places of existing volumes to which the claim could be bound, with volumes of
// the same place in one option, in the order of the volumes' names. A volume that names the claim
// is the only choice.
func (index *Index) ready(claim *corev1.PersistentVolumeClaim, class string) ([]option, error) {
	if options := index.reservedFor(claim, class); options != nil {
		return options, nil
	}
	available := index.available[class]
	if len(available) == 0 {
		return nil, nil
	}
	selector := labels.Everything()
	if claim.Spec.Selector != nil {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(claim.Spec.Selector); err != nil {
			return nil, fmt.Errorf("spec.selector: %w", err)
		}
	}
	var options []option
	byPlace := map[string]int{}
	for _, l := range available {
		if !fits(claim, l.volume) || !selector.Matches(labels.Set(l.volume.Labels)) ||
			!grants(l.volume, claim.Spec.AccessModes) {
			continue
		}
		for j, place := range l.places {
			i, ok := byPlace[place]
			if !ok {
				i = len(options)
				byPlace[place] = i
				options = append(options, option{requirements: l.terms[j]})
			}
			options[i].candidates = append(options[i].candidates, l.volume)
		}
	}
	return options, nil
}

// reservedFor returns the places of the volume that names the claim, or nil where there is none.
func (index *Index) reservedFor(claim *corev1.PersistentVolumeClaim, class string) []option {
	for _, l := range index.reserved[claimKey(claim.Namespace, claim.Name)] {
		uid := l.volume.Spec.ClaimRef.UID
		if (uid == "" || uid == claim.UID) && classOfVolume(l.volume) == class && fits(claim, l.volume) {
			options := make([]option, 0, len(l.terms))
			for _, requirements := range l.terms {
				options = append(options, option{requirements: requirements, candidates: []*corev1.PersistentVolume{l.volume}})
			}
			return options
		}
	}
	return nil
}

// fits reports whether the volume has the claim's size, volume mode and attributes class.
func fits(claim *corev1.PersistentVolumeClaim, volume *corev1.PersistentVolume) bool {
	size, asked := volume.Spec.Capacity[corev1.ResourceStorage], claim.Spec.Resources.Requests[corev1.ResourceStorage]
	return size.Cmp(asked) >= 0 && volumeMode(claim.Spec.VolumeMode) == volumeMode(volume.Spec.VolumeMode) &&
		attributesClass(claim.Spec.VolumeAttributesClassName) == attributesClass(volume.Spec.VolumeAttributesClassName)
}

func grants(volume *corev1.PersistentVolume, modes []corev1.PersistentVolumeAccessMode) bool {
	return !slices.ContainsFunc(modes, func(mode corev1.PersistentVolumeAccessMode) bool {
		return !slices.Contains(volume.Spec.AccessModes, mode)
	})
}

func volumeMode(mode *corev1.PersistentVolumeMode) corev1.PersistentVolumeMode {
	if mode == nil {
		return corev1.PersistentVolumeFilesystem
	}
	return *mode
}

func attributesClass(name *string) string {
	if name == nil {
		return ""
	}
	return *name
}

package volumes

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/whittle-dev/whittle/shared/scheduling"
)

// termsOf returns the places from which a volume can be reached: the terms of its node affinity,
// each restricted by its zone and region labels. One empty term means every place.
func termsOf(volume *corev1.PersistentVolume) ([]scheduling.Requirements, error) {
	labels := topologyLabels(volume)
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return []scheduling.Requirements{labels}, nil
	}
	var terms []scheduling.Requirements
	for i, term := range volume.Spec.NodeAffinity.Required.NodeSelectorTerms {
		if len(term.MatchExpressions) == 0 && len(term.MatchFields) == 0 {
			continue // as everywhere in Kubernetes, a term without expressions matches nothing
		}
		requirements, err := scheduling.FromNodeSelectorTerm(term)
		if err != nil {
			return nil, fmt.Errorf(
				"PersistentVolume %q: spec.nodeAffinity.required.nodeSelectorTerms[%d]: %w", volume.Name, i, err,
			)
		}
		requirements.Merge(labels)
		if !isEmpty(requirements) {
			terms = append(terms, requirements)
		}
	}
	if len(terms) == 0 {
		return nil, fmt.Errorf(
			"PersistentVolume %q: no node can meet spec.nodeAffinity.required (with the volume's zone and region labels): "+
				"correct it, or create claim and volume anew",
			volume.Name,
		)
	}
	return terms, nil
}

// topologyLabels returns the requirements of a volume's zone and region labels, which precede node
// affinity. One label may hold several values, separated by two underscores. A label with an empty
// value among them is ignored.
// https://kubernetes.io/docs/reference/labels-annotations-taints/#topologykubernetesiozone
func topologyLabels(volume *corev1.PersistentVolume) scheduling.Requirements {
	requirements := scheduling.Requirements{}
next:
	for _, key := range []string{
		corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyZone,
		corev1.LabelTopologyRegion,
	} {
		label, ok := volume.Labels[key]
		if !ok {
			continue
		}
		values := strings.Split(label, "__")
		for i := range values {
			if values[i] = strings.TrimSpace(values[i]); values[i] == "" {
				continue next
			}
		}
		requirements.Add(scheduling.In(key, values...))
	}
	return requirements
}

// topologiesOf returns the places where volumes of the class can be created. One empty option means
// every place.
func topologiesOf(class *storagev1.StorageClass) ([]option, error) {
	if len(class.AllowedTopologies) == 0 {
		return []option{{requirements: scheduling.Requirements{}}}, nil
	}
	var options []option
	for _, term := range class.AllowedTopologies {
		requirements := make(scheduling.Requirements, len(term.MatchLabelExpressions))
		for _, expression := range term.MatchLabelExpressions {
			requirements.Add(scheduling.In(expression.Key, expression.Values...))
		}
		if len(requirements) > 0 && !isEmpty(requirements) {
			options = append(options, option{requirements: requirements})
		}
	}
	if len(options) == 0 {
		return nil, fmt.Errorf(
			"StorageClass %q: no node can meet allowedTopologies: each term needs expressions, and each expression values",
			class.Name,
		)
	}
	return options, nil
}

// isOnHost reports whether a volume is part of its host, and is lost with it.
func isOnHost(volume *corev1.PersistentVolume) bool {
	return volume.Spec.Local != nil || volume.Spec.HostPath != nil
}

// withoutHost removes the requirements on the host itself. It returns the same map where there are
// none.
func withoutHost(requirements scheduling.Requirements) scheduling.Requirements {
	_, byLabel := requirements[corev1.LabelHostname]
	_, byName := requirements[nodeNameKey]
	if !byLabel && !byName {
		return requirements
	}
	requirements = requirements.Clone()
	delete(requirements, corev1.LabelHostname)
	delete(requirements, nodeNameKey)
	return requirements
}

func isEmpty(requirements scheduling.Requirements) bool {
	for _, r := range requirements {
		if r.Empty() {
			return true
		}
	}
	return false
}

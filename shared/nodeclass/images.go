package nodeclass

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
)

// Image is a machine image that a term selects.
type Image struct {
	ID, Name     string
	Architecture string // Kubernetes' name: amd64 or arm64
	// Variants are the known uses of the image. They are empty for an image that was selected by
	// id, name or tag.
	Variants   []Variant
	Created    time.Time
	Deprecated bool
}

// Variant is the use that an image is made for.
type Variant string

const (
	VariantAny         Variant = ""         // unknown
	VariantStandard    Variant = "standard" // no accelerator
	VariantNVIDIA      Variant = "nvidia"
	VariantNeuron      Variant = "neuron"
	VariantWindows2019 Variant = "windows2019"
	VariantWindows2022 Variant = "windows2022"
	VariantWindows2025 Variant = "windows2025"
)

func windowsVariant(family string) Variant { return Variant(strings.ToLower(family)) }

// images keeps the newest image of each architecture and variant, and prefers images that are not
// deprecated. An image with two variants occurs twice.
func images(found []Image) []api.AMI {
	sorted := slices.SortedFunc(slices.Values(found), func(a, b Image) int {
		return cmp.Or(deprecatedLast(a, b), b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID))
	})
	type use struct {
		architecture string
		variant      Variant
	}
	type choice struct {
		api.AMI
		variant Variant
	}
	seen := map[use]bool{}
	var chosen []choice
	for _, image := range sorted {
		variants := image.Variants
		if len(variants) == 0 {
			variants = []Variant{VariantAny}
		}
		for _, variant := range variants {
			if purpose := (use{image.Architecture, variant}); image.Architecture != "" && !seen[purpose] {
				seen[purpose] = true
				chosen = append(chosen, choice{
					AMI: api.AMI{
						ID: image.ID, Name: image.Name, Deprecated: image.Deprecated,
						Requirements: requirements(image.Architecture, variant),
					},
					variant: variant,
				})
			}
		}
	}
	// The same facts give the same list. A launch takes the first image that suits a type, so
	// images of an unknown variant come last.
	slices.SortStableFunc(chosen, func(a, b choice) int {
		return cmp.Or(known(a.variant)-known(b.variant), cmp.Compare(a.ID, b.ID), cmp.Compare(a.variant, b.variant))
	})
	var list []api.AMI
	for _, c := range chosen {
		list = append(list, c.AMI)
	}
	return list
}

func known(variant Variant) int {
	if variant == VariantAny {
		return 1
	}
	return 0
}

func deprecatedLast(a, b Image) int {
	switch {
	case a.Deprecated == b.Deprecated:
		return 0
	case a.Deprecated:
		return 1
	}
	return -1
}

// requirements returns the requirements of the instance types that run the image.
func requirements(architecture string, variant Variant) []corev1.NodeSelectorRequirement {
	in := func(key, value string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}}
	}
	is := func(key string, operator corev1.NodeSelectorOperator) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: operator}
	}
	list := []corev1.NodeSelectorRequirement{in(corev1.LabelArchStable, architecture)}
	windows := func(build string) []corev1.NodeSelectorRequirement {
		return append(list, in(corev1.LabelOSStable, string(corev1.Windows)), in(corev1.LabelWindowsBuild, build))
	}
	switch variant {
	case VariantStandard:
		return append(
			list, is(api.LabelInstanceGPUCount, corev1.NodeSelectorOpDoesNotExist),
			is(api.LabelInstanceAcceleratorCount, corev1.NodeSelectorOpDoesNotExist),
		)
	case VariantNVIDIA:
		return append(list, is(api.LabelInstanceGPUCount, corev1.NodeSelectorOpExists))
	case VariantNeuron:
		return append(list, is(api.LabelInstanceAcceleratorCount, corev1.NodeSelectorOpExists))
	case VariantWindows2019:
		return windows(api.Windows2019Build)
	case VariantWindows2022:
		return windows(api.Windows2022Build)
	case VariantWindows2025:
		return windows(api.Windows2025Build)
	}
	return list
}

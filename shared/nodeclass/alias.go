package nodeclass

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
)

// Parameters returns the SSM parameters with the images of the class's alias, by name, each with
// the variants of its image. The Kubernetes version is a minor version such as 1.36. A class
// without an alias has no parameters. The error names an alias without published images.
//
// https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html
// https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id-bottlerocket.html
// https://docs.aws.amazon.com/eks/latest/userguide/retrieve-windows-ami-id.html
func Parameters(class *api.EC2NodeClass, kubernetes string) (map[string][]Variant, error) {
	alias, found := class.Alias()
	if !found {
		return nil, nil
	}
	if err := supported(alias, kubernetes); err != nil {
		return nil, err
	}
	switch alias.Family {
	case api.AMIFamilyAL2023:
		return al2023Parameters(alias.Version, kubernetes), nil
	case api.AMIFamilyAL2:
		return al2Parameters(alias.Version, kubernetes), nil
	case api.AMIFamilyBottlerocket:
		return bottlerocketParameters(alias.Version, kubernetes), nil
	}
	year := strings.TrimPrefix(alias.Family, "Windows")
	name := fmt.Sprintf(
		"/aws/service/ami-windows-latest/Windows_Server-%s-English-Core-EKS_Optimized-%s/image_id", year,
		kubernetes,
	)
	return map[string][]Variant{name: {windowsVariant(alias.Family)}}, nil
}

// supported refuses aliases without images for the Kubernetes version: AL2 ended with 1.32, and
// Windows Server 2025 begins with 1.35.
func supported(alias api.Alias, kubernetes string) error {
	text := strings.ToLower(alias.Family) + "@" + alias.Version
	switch {
	case alias.Family == api.AMIFamilyAL2 && atLeast(kubernetes, 33):
		return fmt.Errorf(
			"alias %s: AWS publishes no AL2 images for Kubernetes %s, only up to 1.32: use al2023", text, kubernetes,
		)
	case alias.Family == api.AMIFamilyWindows2025 && !atLeast(kubernetes, 35):
		return fmt.Errorf(
			"alias %s: AWS publishes no Windows Server 2025 images for Kubernetes %s, only from 1.35 on: use windows2022",
			text, kubernetes,
		)
	}
	return nil
}

// atLeast compares with Kubernetes 1.minor. An unreadable version counts as new.
func atLeast(kubernetes string, minor int) bool {
	major, rest, _ := strings.Cut(kubernetes, ".")
	rest, _, _ = strings.Cut(rest, ".")
	has, err := strconv.Atoi(rest)
	return err != nil || cmp.Or(cmp.Compare(major, "1"), cmp.Compare(has, minor)) >= 0
}

func al2023Parameters(version, kubernetes string) map[string][]Variant {
	parameters := map[string][]Variant{}
	for architecture, variants := range map[string][]Variant{
		"x86_64": {VariantStandard, VariantNVIDIA, VariantNeuron},
		"arm64":  {VariantStandard, VariantNVIDIA},
	} {
		for _, variant := range variants {
			image := "recommended"
			if version != api.AliasVersionLatest {
				image = fmt.Sprintf("amazon-eks-node-al2023-%s-%s-%s-%s", architecture, variant, kubernetes, version)
			}
			name := fmt.Sprintf(
				"/aws/service/eks/optimized-ami/%s/amazon-linux-2023/%s/%s/%s/image_id", kubernetes, architecture,
				variant, image,
			)
			parameters[name] = []Variant{variant}
		}
	}
	return parameters
}

// al2Parameters returns the parameters of AL2. One of its images has the drivers of both kinds of
// accelerators.
func al2Parameters(version, kubernetes string) map[string][]Variant {
	parameters := map[string][]Variant{}
	for suffix, variants := range map[string][]Variant{
		"": {VariantStandard}, "-arm64": {VariantStandard}, "-gpu": {VariantNVIDIA, VariantNeuron},
	} {
		image := "recommended"
		if version != api.AliasVersionLatest {
			image = fmt.Sprintf("amazon-eks%s-node-%s-%s", suffix, kubernetes, version)
		}
		parameters[fmt.Sprintf(
			"/aws/service/eks/optimized-ami/%s/amazon-linux-2%s/%s/image_id", kubernetes, suffix, image,
		)] = variants
	}
	return parameters
}

// bottlerocketParameters returns the parameters of Bottlerocket. Its release tags have a v that the
// parameters' names do not have.
func bottlerocketParameters(version, kubernetes string) map[string][]Variant {
	parameters := map[string][]Variant{}
	version = strings.TrimPrefix(version, "v")
	for _, architecture := range []string{"x86_64", "arm64"} {
		for suffix, variant := range map[string]Variant{"": VariantStandard, "-nvidia": VariantNVIDIA} {
			parameters[fmt.Sprintf(
				"/aws/service/bottlerocket/aws-k8s-%s%s/%s/%s/image_id", kubernetes, suffix, architecture, version,
			)] = []Variant{variant}
		}
	}
	return parameters
}

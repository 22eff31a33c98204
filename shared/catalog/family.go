package catalog

import (
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
)

// family is the class's AMI family: the one it names, or its alias implies.
func family(class *api.EC2NodeClass) string {
	if class.Spec.AMIFamily != nil {
		return *class.Spec.AMIFamily
	}
	for _, term := range class.Spec.AMISelectorTerms {
		name, _, found := strings.Cut(term.Alias, "@")
		if !found {
			continue
		}
		for _, known := range []string{
			api.AMIFamilyAL2, api.AMIFamilyAL2023, api.AMIFamilyBottlerocket,
			api.AMIFamilyWindows2019, api.AMIFamilyWindows2022, api.AMIFamilyWindows2025,
		} {
			if strings.EqualFold(name, known) {
				return known
			}
		}
	}
	return api.AMIFamilyCustom
}

// windowsBuild is the value of node.kubernetes.io/windows-build that a family's nodes have; false for Linux.
func windowsBuild(family string) (string, bool) {
	switch family {
	case api.AMIFamilyWindows2019:
		return api.Windows2019Build, true
	case api.AMIFamilyWindows2022:
		return api.Windows2022Build, true
	case api.AMIFamilyWindows2025:
		return api.Windows2025Build, true
	}
	return "", false
}

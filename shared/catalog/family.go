package catalog

import (
	"cmp"

	"github.com/whittle-dev/whittle/shared/api"
)

// family returns the class's AMI family. A class without one selects its own images, which is the
// family Custom.
func family(class *api.EC2NodeClass) string { return cmp.Or(class.AMIFamily(), api.AMIFamilyCustom) }

// windowsBuild returns the value of the label node.kubernetes.io/windows-build of a family's nodes,
// or false for Linux.
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

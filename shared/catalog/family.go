package catalog

import (
	"cmp"

	"github.com/whittle-dev/whittle/shared/api"
)

// family is the class's AMI family; a class that says none brings its own images.
func family(class *api.EC2NodeClass) string { return cmp.Or(class.AMIFamily(), api.AMIFamilyCustom) }

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

package nodeclass

import (
	"fmt"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
)

// Families of images, as spec.amiFamily names them.
const (
	FamilyAL2023 = "AL2023"
	FamilyCustom = "Custom"
)

// aliasFamilies maps the family in an alias to spec.amiFamily's name.
func aliasFamilies() map[string]string {
	return map[string]string{
		"al2": "AL2", "al2023": FamilyAL2023, "bottlerocket": "Bottlerocket",
		"windows2019": "Windows2019", "windows2022": "Windows2022", "windows2025": "Windows2025",
	}
}

// Alias splits a selector's alias, such as al2023@v20250101, into family and version.
func Alias(class *api.EC2NodeClass) (family, version string, found bool) {
	for _, term := range class.Spec.AMISelectorTerms {
		if name, version, ok := strings.Cut(term.Alias, "@"); ok {
			return aliasFamilies()[name], version, true
		}
	}
	return "", "", false
}

// Family is the image family of the class: spec.amiFamily, or the alias's.
func Family(class *api.EC2NodeClass) string {
	if class.Spec.AMIFamily != nil {
		return *class.Spec.AMIFamily
	}
	family, _, _ := Alias(class)
	return family
}

// Unsupported names the fields of the class that are set and not honoured, each
// with the mend. A node that is launched without them would not be what its
// owner asked for.
func Unsupported(class *api.EC2NodeClass) []string {
	spec := &class.Spec
	var fields []string
	refuse := func(set bool, field, mend string) {
		if set {
			fields = append(fields, fmt.Sprintf("spec.%s is not supported yet: %s", field, mend))
		}
	}
	family := Family(class)
	refuse(family != FamilyAL2023 && family != FamilyCustom, "amiFamily "+family, "use AL2023 or Custom")
	refuse(len(spec.CapacityReservationSelectorTerms) > 0, "capacityReservationSelectorTerms", "remove it")
	refuse(spec.PlacementGroupSelector != nil, "placementGroupSelector", "remove it")
	refuse(len(spec.NetworkInterfaces) > 0, "networkInterfaces", "remove it")
	refuse(spec.ConnectionTracking != nil, "connectionTracking", "remove it")
	refuse(spec.CPUOptions != nil, "cpuOptions", "remove it")
	refuse(spec.IPPrefixCount != nil, "ipPrefixCount", "remove it")
	refuse(spec.Context != nil, "context", "remove it")
	for i, term := range spec.AMISelectorTerms {
		refuse(term.SSMParameter != "" && !strings.HasPrefix(term.SSMParameter, "/aws/service/"),
			fmt.Sprintf("amiSelectorTerms[%d].ssmParameter", i), "use a public parameter under /aws/service/, or the image's id")
	}
	return fields
}

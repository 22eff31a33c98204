package nodeclass

import (
	"fmt"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
)

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
	family := class.AMIFamily()
	refuse(family != api.AMIFamilyAL2023 && family != api.AMIFamilyCustom, "amiFamily "+family, "use AL2023 or Custom")
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

package ec2

import (
	"github.com/whittle-dev/whittle/testdata/instancetypes"
)

// instanceTypePlacementXML are further elements of InstanceTypeInfo, derived from what the table knows.
type instanceTypePlacementXML struct {
	PlacementGroupInfo struct {
		SupportedStrategies set[string] `xml:"supportedStrategies"`
	} `xml:"placementGroupInfo"`
	NitroTpmInfo       *nitroTPMInfoXML `xml:"nitroTpmInfo"`
	SupportedBootModes set[string]      `xml:"supportedBootModes"`
}

type nitroTPMInfoXML struct {
	SupportedVersions set[string] `xml:"supportedVersions"`
}

// describeTypePlacement fills them in.
func describeTypePlacement(t *instancetypes.InstanceType) instanceTypePlacementXML {
	x := instanceTypePlacementXML{}
	x.PlacementGroupInfo.SupportedStrategies = setOf(t.PlacementStrategies)
	if t.NitroTPM {
		x.NitroTpmInfo = &nitroTPMInfoXML{setOf([]string{"2.0"})}
	}
	switch {
	case t.Architectures[0] == "arm64":
		x.SupportedBootModes = setOf([]string{"uefi"})
	case t.Hypervisor == "xen":
		x.SupportedBootModes = setOf([]string{"legacy-bios"})
	default:
		x.SupportedBootModes = setOf([]string{"legacy-bios", "uefi"})
	}
	return x
}

package api

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// WellKnownLabels returns the label keys whose values follow from the instance type and offering. A
// pod may require them of a pool that does not name them.
func WellKnownLabels() []string { return slices.Clone(wellKnownLabels) }

var wellKnownLabels = append([]string{
	NodePoolLabelKey,
	CapacityTypeLabelKey,
	corev1.LabelTopologyZone,
	corev1.LabelTopologyRegion,
	corev1.LabelInstanceTypeStable,
	corev1.LabelArchStable,
	corev1.LabelOSStable,
	corev1.LabelWindowsBuild,
	LabelTopologyZoneID,
}, awsLabels()...)

// awsLabels returns the keys of the group karpenter.k8s.aws that requirements may use.
func awsLabels() []string {
	return []string{
		LabelNodeClass, LabelInstanceHypervisor, LabelInstanceEncryptionInTransitSupported, LabelInstanceCategory,
		LabelInstanceFamily, LabelInstanceGeneration, LabelInstanceSize, LabelInstanceCapabilityFlex,
		LabelInstanceLocalNVME, LabelInstanceCPU, LabelInstanceCPUManufacturer, LabelInstanceCPUSustainedClockSpeedMhz,
		LabelInstanceMemory, LabelInstanceEBSBandwidth, LabelInstanceNetworkBandwidth, LabelInstanceGPUName,
		LabelInstanceGPUManufacturer, LabelInstanceGPUCount, LabelInstanceGPUMemory, LabelInstanceAcceleratorName,
		LabelInstanceAcceleratorManufacturer, LabelInstanceAcceleratorCount, LabelInstanceTenancy, LabelNitroSandbox,
		LabelCapacityReservationID, LabelCapacityReservationType, LabelCapacityReservationInterruptible,
		LabelPlacementGroupID, LabelPlacementGroupPartition,
	}
}

// NormalizedLabel returns the stable key for one of Kubernetes' beta keys or the zone label of EBS
// volumes, and any other key unchanged.
func NormalizedLabel(key string) string {
	switch key {
	case corev1.LabelFailureDomainBetaZone, LabelTopologyZoneEBS:
		return corev1.LabelTopologyZone
	case corev1.LabelFailureDomainBetaRegion:
		return corev1.LabelTopologyRegion
	case "beta.kubernetes.io/arch":
		return corev1.LabelArchStable
	case "beta.kubernetes.io/os":
		return corev1.LabelOSStable
	case corev1.LabelInstanceType:
		return corev1.LabelInstanceTypeStable
	}
	return key
}

// IsRestrictedLabel reports whether neither the labels nor the requirements of a pool may use a
// key. Restricted are the host name, and every key in the domains of the two API groups that is not
// well known. ProvisionerNameLabelKey is not, because Default gives it to a template.
func IsRestrictedLabel(key string) bool {
	if key == ProvisionerNameLabelKey || slices.Contains(wellKnownLabels, key) {
		return false
	}
	if key == corev1.LabelHostname {
		return true
	}
	domain, _, ok := strings.Cut(key, "/")
	if !ok {
		return false
	}
	for _, restricted := range []string{Group, AWSGroup} {
		if domain == restricted || strings.HasSuffix(domain, "."+restricted) {
			return true
		}
	}
	return false
}

// knownValues returns every possible value of a label, or nil where any value is possible.
func knownValues(key string) []string {
	switch key {
	case CapacityTypeLabelKey:
		return []string{CapacityTypeOnDemand, CapacityTypeReserved, CapacityTypeSpot}
	case LabelInstanceTenancy:
		return []string{TenancyDedicated, TenancyDefault}
	}
	return nil
}

package api

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// WellKnownLabels are the label keys whose values instance types and offerings
// settle, so that a node pool or a pod may ask for them without the pool naming them.
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

// awsLabels are the keys of the group karpenter.k8s.aws that requirements may use.
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

// NormalizedLabel is the key that a label is known by today: the key itself, but for
// Kubernetes' old beta labels and the zone label of EBS volumes.
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

// IsRestrictedLabel reports whether neither a pool's labels nor a requirement may use
// a key: the host name, and what is in the domains of the two API groups but not well
// known.
func IsRestrictedLabel(key string) bool {
	if slices.Contains(wellKnownLabels, key) {
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

// knownValues are the values that a label can have at all, or nil where any will do.
func knownValues(key string) []string {
	switch key {
	case CapacityTypeLabelKey:
		return []string{CapacityTypeOnDemand, CapacityTypeReserved, CapacityTypeSpot}
	case LabelInstanceTenancy:
		return []string{TenancyDedicated, TenancyDefault}
	}
	return nil
}

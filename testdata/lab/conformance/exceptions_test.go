//go:build conformance

package conformance

import "strings"

const (
	typeFact  = "the table of instance types has no such fact, and no node autoscaler asks for it"
	noAddress = "no subnet here gives public addresses by itself: an instance has one where its launch asks for it"
)

// notHere are elements that moto answers and the local AWS does not, by action and path or the
// beginning of it, with the reason.
func notHere() map[string]string {
	exceptions := map[string]string{}
	for _, path := range []string{
		"autoRecoverySupported", "dedicatedHostsSupported", "freeTierEligible", "hibernationSupported", "phcSupport",
		"rebootMigrationSupport",
		"ebsInfo/ebsOptimizedInfo/baselineIops", "ebsInfo/ebsOptimizedInfo/maximumIops", "gpuInfo/gpus/item/workloadSet",
		"networkInfo/connectionTrackingConfiguration", "networkInfo/enaSrdSupported", "networkInfo/flexibleEnaQueuesSupport",
		"networkInfo/secondaryNetworkSupported",
		"networkInfo/networkCards/item/defaultEnaQueueCountPerInterface", "networkInfo/networkCards/item/interfaceTypeSet",
		"vCpuInfo/validCores", "vCpuInfo/validThreadsPerCore",
	} {
		exceptions["DescribeInstanceTypes/instanceTypeSet/item/"+path] = typeFact
	}
	for _, path := range []string{
		"excessCapacityTerminationPolicy", "fulfilledCapacity", "fulfilledOnDemandCapacity", "launchTemplateConfigs",
		"onDemandOptions", "spotOptions", "targetCapacitySpecification", "terminateInstancesWithExpiration", "validFrom",
	} {
		exceptions["DescribeFleets/fleetSet/item/"+path] = "the local AWS shows what a fleet launched, not what it asked for"
	}
	exceptions["RunInstances/instancesSet/item/privateDnsName"] = "EC2 tells no name before the instance runs"
	for _, instance := range []string{
		"DescribeInstances/reservationSet/item/instancesSet/item/", "RunInstances/instancesSet/item/",
	} {
		for _, path := range []string{
			"dnsName", "ipAddress", "networkInterfaceSet/item/association",
			"networkInterfaceSet/item/privateIpAddressesSet/item/association",
		} {
			exceptions[instance+path] = noAddress
		}
		exceptions[instance+"sriovNetSupport"] = "EC2 answers it for types without ENA alone, and m5.large has ENA"
		exceptions[instance+"networkInterfaceSet/item/description"] = "EC2 leaves the description empty unless the launch " +
			"gives one; moto makes one up"
	}
	return exceptions
}

// exceptionFor is the exception that covers a missing element; empty for none.
func exceptionFor(path string) string {
	for beginning := range notHere() {
		if path == beginning || strings.HasPrefix(path, beginning+"/") {
			return beginning
		}
	}
	return ""
}

// otherCodes are calls that moto refuses with a code that EC2 does not use, or not at all.
func otherCodes() map[string]string {
	return map[string]string{
		"a placement group that is not there": "moto holds no placement groups and ends with status 500",
	}
}

// otherWords has the elements with values that EC2 uses and the model lacks.
func otherWords() map[string]string {
	return map[string]string{
		"DescribeImages/imagesSet/item/platform": "EC2's documentation says that the value is windows, and EC2 answers " +
			"that; the model's word is Windows",
	}
}

// motoFails are calls that moto does not hold.
func motoFails() map[string]string {
	const groups, reservations = "moto holds no placement groups", "moto holds no capacity reservations"
	return map[string]string{
		"CreatePlacementGroup": groups, "DescribePlacementGroups": groups,
		"CreateCapacityReservation": reservations, "DescribeCapacityReservations": reservations,
	}
}

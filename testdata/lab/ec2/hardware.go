package ec2

import (
	"slices"
)

// checkMarket refuses a market type that does not go with how the capacity is bought.
func checkMarket(l *launch) error {
	market := ""
	if l.data.InstanceMarketOptions != nil {
		market = l.data.InstanceMarketOptions.MarketType
	}
	switch {
	case !slices.Contains([]string{"", OnDemand, Spot, CapacityBlock, Interruptible}, market):
		return invalidValue(market, "MarketType", "")
	case (l.capacityType == CapacityBlock || l.capacityType == Interruptible) && market != l.capacityType:
		return refuse(codeInvalidParameterCombination, "A launch into %s needs the market type %s: it has %q", l.capacityType,
			l.capacityType, market)
	case (market == CapacityBlock || market == Interruptible) && market != l.capacityType:
		return refuse(codeInvalidParameterCombination, "The market type %s cannot be had as %s", market, l.capacityType)
	}
	wanted := l.data.CapacityReservationSpecification
	if wanted == nil {
		return nil
	}
	if !slices.Contains([]string{"", "open", "none", "capacity-reservations-only"}, wanted.Preference) {
		return invalidValue(wanted.Preference, "CapacityReservationPreference", "")
	}
	if wanted.Target != nil && (l.capacityType == Spot || wanted.Preference == "none") {
		return refuse(codeInvalidParameterCombination,
			"A capacity reservation cannot be targeted by a launch that is %s with the preference %q", l.capacityType,
			wanted.Preference)
	}
	return nil
}

// checkHardware refuses options that the instance type does not have.
func checkHardware(l *launch) error {
	if l.data.EnclaveOptions != nil && l.data.EnclaveOptions.Enabled && !l.facts.NitroEnclaves {
		return refuse(codeUnsupported, "The instance type %s does not support Nitro Enclaves.", l.facts.Name)
	}
	if options := l.data.CPUOptions; options != nil {
		if err := l.checkCPU(options); err != nil {
			return err
		}
	}
	if l.data.Placement == nil {
		return nil
	}
	switch tenancy := l.data.Placement.Tenancy; {
	case !slices.Contains([]string{"", "default", "dedicated"}, tenancy):
		return refuse(codeUnsupported, "The local EC2 has no dedicated hosts: tenancy %q is default or dedicated.", tenancy)
	case tenancy == "dedicated" && l.facts.BurstablePerformance && !l.facts.CurrentGeneration:
		return refuse(codeUnsupported, "The instance type %s cannot be had with the tenancy dedicated.", l.facts.Name)
	}
	return nil
}

func (l *launch) checkCPU(options *cpuOptions) error {
	switch {
	case options.NestedVirtualization == "enabled" &&
		!slices.Contains(l.facts.ProcessorFeatures, "nested-virtualization"):
		return refuse(codeUnsupported, "The instance type %s does not support nested virtualization.", l.facts.Name)
	case options.AmdSevSnp == "enabled" && !slices.Contains(l.facts.ProcessorFeatures, "amd-sev-snp"):
		return refuse(codeUnsupported, "The instance type %s does not support AMD SEV-SNP.", l.facts.Name)
	case options.CoreCount != nil && (*options.CoreCount < 1 || *options.CoreCount > l.facts.CoresDefault):
		return refuse(codeInvalidParameterValue, "CpuOptions: CoreCount %d is not supported by %s, which has %d cores.",
			*options.CoreCount, l.facts.Name, l.facts.CoresDefault)
	case options.ThreadsPerCore != nil && *options.ThreadsPerCore != 1 &&
		*options.ThreadsPerCore != l.facts.ThreadsPerCore:
		return refuse(codeInvalidParameterValue, "CpuOptions: ThreadsPerCore %d is not supported by %s.",
			*options.ThreadsPerCore, l.facts.Name)
	}
	return nil
}

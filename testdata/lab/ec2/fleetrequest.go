package ec2

import "slices"

// check refuses requests that no instant fleet accepts.
func (r *createFleetRequest) check() error {
	if len(r.LaunchTemplateConfigs) == 0 {
		return missing("LaunchTemplateConfigs")
	}
	if configs := len(r.LaunchTemplateConfigs); configs > maxTemplateConfigs {
		return invalidValue(configs, "LaunchTemplateConfigs", "A fleet takes at most 50 launch templates.")
	}
	if r.Type != "instant" {
		return refuse("UnsupportedOperation", "The local EC2 holds fleets of the type instant only, not %q", r.Type)
	}
	for _, check := range []func() error{r.checkTarget, r.checkReserved, r.checkOverrides} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (r *createFleetRequest) checkTarget() error {
	switch {
	case r.Target.Total == nil:
		return missing("TargetCapacitySpecification.TotalTargetCapacity")
	case *r.Target.Total < 1 || *r.Target.Total > 10000:
		return invalidValue(*r.Target.Total, "TotalTargetCapacity", "Expecting 1 to 10000.")
	case r.Target.OnDemand < 0 || r.Target.Spot < 0 || r.Target.OnDemand+r.Target.Spot > *r.Target.Total:
		return refuse(codeInvalidFleetConfiguration,
			"OnDemandTargetCapacity %d and SpotTargetCapacity %d do not add up to TotalTargetCapacity %d",
			r.Target.OnDemand, r.Target.Spot, *r.Target.Total)
	case !slices.Contains([]string{"", Spot, OnDemand, CapacityBlock, targetReserved}, r.Target.DefaultType):
		return invalidValue(r.Target.DefaultType, "DefaultTargetCapacityType", "")
	case r.Target.DefaultType == CapacityBlock && (r.Target.OnDemand > 0 || r.Target.Spot > 0):
		return refuse(codeInvalidFleetConfiguration,
			"A fleet of capacity blocks takes neither OnDemandTargetCapacity nor SpotTargetCapacity")
	}
	return nil
}

// checkReserved checks the options about reserved capacity and the strategies.
func (r *createFleetRequest) checkReserved() error {
	switch {
	case (r.Target.DefaultType == targetReserved) != (r.ReservedCapacityOptions != nil &&
		len(r.ReservedCapacityOptions.ReservationTypes) > 0):
		return refuse(codeInvalidFleetConfiguration,
			"ReservedCapacityOptions with ReservationTypes go with the DefaultTargetCapacityType reserved-capacity, not with %q",
			r.Target.DefaultType)
	case r.SpotOptions.CapacityReservationOptions != nil:
		return refuse(codeUnknownParameter, "The parameter SpotOptions.CapacityReservationOptions is not recognized")
	case r.Target.DefaultType == targetReserved &&
		(len(r.ReservedCapacityOptions.ReservationTypes) != 1 || r.reservedType() == ""):
		return invalidValue(r.ReservedCapacityOptions.ReservationTypes, "ReservationTypes",
			"The local EC2 holds one of on-demand-capacity-reservation, capacity-block and interruptible-capacity-reservation.")
	}
	if options := r.OnDemandOptions.CapacityReservationOptions; options != nil &&
		options.UsageStrategy != "use-capacity-reservations-first" {
		return invalidValue(options.UsageStrategy, "UsageStrategy", "Expecting use-capacity-reservations-first.")
	}
	if !isStrategy(Spot, r.SpotOptions.AllocationStrategy) {
		return invalidValue(r.SpotOptions.AllocationStrategy, "SpotOptions.AllocationStrategy", "")
	}
	if !isStrategy(OnDemand, r.OnDemandOptions.AllocationStrategy) {
		return invalidValue(r.OnDemandOptions.AllocationStrategy, "OnDemandOptions.AllocationStrategy", "")
	}
	return nil
}

func (r *createFleetRequest) checkOverrides() error {
	overrides := 0
	for _, config := range r.LaunchTemplateConfigs {
		overrides += len(config.Overrides)
		for _, o := range config.Overrides {
			if o.WeightedCapacity != nil && *o.WeightedCapacity != 1 {
				return invalidValue(*o.WeightedCapacity, "WeightedCapacity", "The local EC2 counts every instance as 1.")
			}
		}
	}
	if overrides > maxFleetOverrides {
		return refuse(codeInvalidFleetConfiguration, "The fleet has %d overrides: at most %d are allowed", overrides,
			maxFleetOverrides)
	}
	return nil
}

// maxFleetOverrides is EC2's quota of launch specifications in one fleet.
const maxFleetOverrides = 300

// maxTemplateConfigs is how many launch templates one fleet takes.
const maxTemplateConfigs = 50

// targetReserved is the default type of fleets that want reserved capacity.
const targetReserved = "reserved-capacity"

// reservedType is the capacity type of the reservations that the fleet wants.
func (r *createFleetRequest) reservedType() string {
	switch r.ReservedCapacityOptions.ReservationTypes[0] {
	case "on-demand-capacity-reservation":
		return OnDemand
	case CapacityBlock:
		return CapacityBlock
	case Interruptible:
		return Interruptible
	}
	return ""
}

// targets returns how many instances of each capacity type are wanted.
func (r *createFleetRequest) targets() map[string]int {
	t := r.Target
	wanted := map[string]int{OnDemand: t.OnDemand, Spot: t.Spot}
	switch t.DefaultType {
	case Spot:
		wanted[Spot] = *t.Total - t.OnDemand
	case CapacityBlock:
		wanted[CapacityBlock] = *t.Total
	case targetReserved:
		wanted[r.reservedType()] += *t.Total - t.OnDemand - t.Spot
	default:
		wanted[OnDemand] = *t.Total - t.Spot
	}
	return wanted
}

package ec2

import "slices"

// createFleetRequest holds what instant fleets take; https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateFleet.html.
type createFleetRequest struct {
	ClientToken                     string                 `query:"ClientToken"`
	Type                            string                 `query:"Type"`
	Context                         string                 `query:"Context"`
	ExcessCapacityTerminationPolicy string                 `query:"ExcessCapacityTerminationPolicy"`
	SpotOptions                     fleetOptions           `query:"SpotOptions"`
	OnDemandOptions                 fleetOptions           `query:"OnDemandOptions"`
	ReservedCapacityOptions         *reservedOptions       `query:"ReservedCapacityOptions"`
	LaunchTemplateConfigs           []launchTemplateConfig `query:"LaunchTemplateConfigs"`
	Target                          targetCapacity         `query:"TargetCapacitySpecification"`
	TagSpecifications               []tagSpecification     `query:"TagSpecification"`
}

type fleetOptions struct {
	AllocationStrategy           string `query:"AllocationStrategy"`
	InstanceInterruptionBehavior string `query:"InstanceInterruptionBehavior"`
	MinTargetCapacity            int    `query:"MinTargetCapacity"`
	// SingleInstanceType and SingleAvailabilityZone keep all instances of the fleet together.
	SingleInstanceType     bool `query:"SingleInstanceType"`
	SingleAvailabilityZone bool `query:"SingleAvailabilityZone"`
	// CapacityReservationOptions are of on-demand fleets alone.
	CapacityReservationOptions *struct {
		UsageStrategy string `query:"UsageStrategy"`
	} `query:"CapacityReservationOptions"`
}

// reservedOptions say which reserved capacity a fleet of the type reserved-capacity wants.
type reservedOptions struct {
	AllocationStrategy string   `query:"AllocationStrategy"`
	ReservationTypes   []string `query:"ReservationType"`
}

type launchTemplateConfig struct {
	Specification fleetTemplate   `query:"LaunchTemplateSpecification"`
	Overrides     []fleetOverride `query:"Overrides"`
}

type fleetTemplate struct {
	ID      string `query:"LaunchTemplateId" xml:"launchTemplateId,omitempty"`
	Name    string `query:"LaunchTemplateName" xml:"launchTemplateName,omitempty"`
	Version string `query:"Version" xml:"version,omitempty"`
}

type fleetOverride struct {
	InstanceType       string              `query:"InstanceType" xml:"instanceType,omitempty"`
	MaxPrice           string              `query:"MaxPrice" xml:"maxPrice,omitempty"`
	SubnetID           string              `query:"SubnetId" xml:"subnetId,omitempty"`
	AvailabilityZone   string              `query:"AvailabilityZone" xml:"availabilityZone,omitempty"`
	AvailabilityZoneID string              `query:"AvailabilityZoneId" xml:"availabilityZoneId,omitempty"`
	WeightedCapacity   *float64            `query:"WeightedCapacity" xml:"weightedCapacity"`
	Priority           *float64            `query:"Priority" xml:"priority"`
	ImageID            string              `query:"ImageId" xml:"imageId,omitempty"`
	Placement          *fleetOverPlacement `query:"Placement" xml:"-"`
	// ShownPlacement is what answers tell of the placement.
	ShownPlacement *fleetPlacementXML `query:"-" xml:"placement"`
}

type fleetOverPlacement struct {
	Tenancy         string `query:"Tenancy"`
	GroupName       string `query:"GroupName"`
	GroupID         string `query:"GroupId"`
	PartitionNumber *int   `query:"PartitionNumber"`
}

type fleetPlacementXML struct {
	GroupName string `xml:"groupName"`
}

type targetCapacity struct {
	Total       *int   `query:"TotalTargetCapacity"`
	OnDemand    int    `query:"OnDemandTargetCapacity"`
	Spot        int    `query:"SpotTargetCapacity"`
	DefaultType string `query:"DefaultTargetCapacityType"`
}

type createFleetResult struct {
	FleetID   string              `xml:"fleetId"`
	Errors    set[fleetError]     `xml:"errorSet"`
	Instances set[fleetInstances] `xml:"fleetInstanceSet"`
}

type templateAndOverrides struct {
	Specification fleetTemplate `xml:"launchTemplateSpecification"`
	Overrides     fleetOverride `xml:"overrides"`
}

type fleetError struct {
	TemplateAndOverrides templateAndOverrides `xml:"launchTemplateAndOverrides"`
	Lifecycle            string               `xml:"lifecycle"`
	Code                 string               `xml:"errorCode"`
	Message              string               `xml:"errorMessage"`
}

type fleetInstances struct {
	TemplateAndOverrides templateAndOverrides `xml:"launchTemplateAndOverrides"`
	Lifecycle            string               `xml:"lifecycle"`
	InstanceIDs          set[string]          `xml:"instanceIds"`
	InstanceType         string               `xml:"instanceType"`
	AvailabilityZone     string               `xml:"availabilityZone"`
	AvailabilityZoneID   string               `xml:"availabilityZoneId"`
	SubnetID             string               `xml:"subnetId"`
}

// check refuses what no instant fleet takes.
func (r *createFleetRequest) check() error {
	switch {
	case len(r.LaunchTemplateConfigs) == 0:
		return missing("LaunchTemplateConfigs")
	case r.Type != "instant":
		return refuse("UnsupportedOperation", "The local EC2 holds fleets of the type instant only, not %q", r.Type)
	case r.Target.Total == nil:
		return missing("TargetCapacitySpecification.TotalTargetCapacity")
	case *r.Target.Total < 1 || *r.Target.Total > 10000:
		return invalidValue(*r.Target.Total, "TotalTargetCapacity", "Expecting 1 to 10000.")
	case r.Target.OnDemand < 0 || r.Target.Spot < 0 || r.Target.OnDemand+r.Target.Spot > *r.Target.Total:
		return refuse(codeInvalidFleetConfiguration, "OnDemandTargetCapacity %d and SpotTargetCapacity %d do not add up to TotalTargetCapacity %d",
			r.Target.OnDemand, r.Target.Spot, *r.Target.Total)
	case !slices.Contains([]string{"", Spot, OnDemand, CapacityBlock, targetReserved}, r.Target.DefaultType):
		return invalidValue(r.Target.DefaultType, "DefaultTargetCapacityType", "")
	case r.Target.DefaultType == CapacityBlock && (r.Target.OnDemand > 0 || r.Target.Spot > 0):
		return refuse(codeInvalidFleetConfiguration, "A fleet of capacity blocks takes neither OnDemandTargetCapacity nor SpotTargetCapacity")
	case (r.Target.DefaultType == targetReserved) != (r.ReservedCapacityOptions != nil && len(r.ReservedCapacityOptions.ReservationTypes) > 0):
		return refuse(codeInvalidFleetConfiguration, "ReservedCapacityOptions with ReservationTypes go with the DefaultTargetCapacityType reserved-capacity, not with %q", r.Target.DefaultType)
	case r.SpotOptions.CapacityReservationOptions != nil:
		return refuse(codeUnknownParameter, "The parameter SpotOptions.CapacityReservationOptions is not recognized")
	case r.Target.DefaultType == targetReserved && (len(r.ReservedCapacityOptions.ReservationTypes) != 1 || r.reservedType() == ""):
		return invalidValue(r.ReservedCapacityOptions.ReservationTypes, "ReservationTypes", "The local EC2 holds one of on-demand-capacity-reservation, capacity-block and interruptible-capacity-reservation.")
	}
	if options := r.OnDemandOptions.CapacityReservationOptions; options != nil && options.UsageStrategy != "use-capacity-reservations-first" {
		return invalidValue(options.UsageStrategy, "UsageStrategy", "Expecting use-capacity-reservations-first.")
	}
	if !isStrategy(Spot, r.SpotOptions.AllocationStrategy) {
		return invalidValue(r.SpotOptions.AllocationStrategy, "SpotOptions.AllocationStrategy", "")
	}
	if !isStrategy(OnDemand, r.OnDemandOptions.AllocationStrategy) {
		return invalidValue(r.OnDemandOptions.AllocationStrategy, "OnDemandOptions.AllocationStrategy", "")
	}
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
		return refuse(codeInvalidFleetConfiguration, "The fleet has %d overrides: at most %d are allowed", overrides, maxFleetOverrides)
	}
	return nil
}

// maxFleetOverrides is EC2's quota of launch specifications in one fleet.
const maxFleetOverrides = 300

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

// targets gives how many instances of each capacity type are wanted.
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

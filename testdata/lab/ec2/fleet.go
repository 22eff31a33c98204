package ec2

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

func (s *Service) createFleet(c *wire.Call, in *createFleetRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.once(c, in.ClientToken, func() (any, error) {
		if err := in.check(); err != nil {
			return nil, err
		}
		return s.launchFleet(in)
	})
}

// rehearseFleet refuses what would fail the whole call. Only a real call reports errors of single
// overrides, in its result.
func (s *Service) rehearseFleet(_ *wire.Call, in *createFleetRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := in.check(); err != nil {
		return err
	}
	v := s.view()
	for _, config := range in.LaunchTemplateConfigs {
		template, err := s.templateSeenBy(v, config.Specification.ID, config.Specification.Name)
		if err != nil {
			return err
		}
		if _, _, err := template.version(config.Specification.Version); err != nil {
			return err
		}
	}
	return nil
}

// planned is an instance that has its room and its address but is not launched yet.
type planned struct {
	offer *offer
	given *grant
}

func (s *Service) launchFleet(in *createFleetRequest) (*createFleetResult, error) {
	fleetID := strings.Replace(s.identity.next("fleet"), "fleet-0", "fleet-", 1)
	out := &createFleetResult{FleetID: fleetID}
	for _, capacityType := range []string{OnDemand, Spot, CapacityBlock, Interruptible} {
		wanted := in.targets()[capacityType]
		if wanted == 0 {
			continue
		}
		options := in.optionsOf(capacityType)
		offers, err := s.offers(in, capacityType, fleetID)
		if err != nil {
			return nil, err
		}
		plan := s.allocate(offers, wanted, options)
		if len(plan) < options.MinTargetCapacity {
			for _, p := range plan {
				s.release(p.given)
			}
			plan = nil
		}
		reservation := s.identity.next("r")
		for index, p := range plan {
			i := s.start(&p.offer.launch, p.given, reservation, index)
			p.offer.instanceIDs = append(p.offer.instanceIDs, i.ID)
		}
		report(out, offers, capacityType)
	}
	now := s.config.Now()
	made := &madeFleet{token: in.ClientToken, result: out}
	made.shown.Set(true, now, s.learned(now, nil, fleetID)...)
	s.fleets[fleetID] = made
	return out, nil
}

// allocate takes room for up to the wanted number of instances. The caller launches them or
// releases the room.
func (s *Service) allocate(offers []*offer, wanted int, options fleetOptions) []planned {
	if options.CapacityReservationOptions != nil {
		for _, o := range offers {
			if !o.dead {
				r, _, _ := s.reservationFor(&o.launch)
				o.reserved = r != nil
			}
		}
	}
	var plan []planned
	for len(plan) < wanted {
		o := s.capacity.best(slices.DeleteFunc(slices.Clone(offers), func(o *offer) bool {
			return !together(o, plan, options)
		}), options.AllocationStrategy)
		if o == nil {
			break
		}
		given, code, message := s.reserve(&o.launch)
		if code != "" {
			o.dead, o.code, o.message = true, code, message
			continue
		}
		plan = append(plan, planned{o, given})
	}
	return plan
}

// together reports whether an offer may join the planned instances, in a fleet that wants one type
// or one zone.
func together(o *offer, plan []planned, options fleetOptions) bool {
	if len(plan) == 0 {
		return true
	}
	first := plan[0].offer.launch
	return (!options.SingleInstanceType || o.launch.facts == first.facts) &&
		(!options.SingleAvailabilityZone || o.launch.subnet.zone == first.subnet.zone)
}

// optionsOf are a fleet's for instances of a capacity type; those of reserved capacity have none
// that matter here.
func (r *createFleetRequest) optionsOf(capacityType string) fleetOptions {
	switch {
	case capacityType == Spot:
		return r.SpotOptions
	case capacityType == OnDemand && r.ReservedCapacityOptions == nil:
		return r.OnDemandOptions
	}
	return fleetOptions{AllocationStrategy: "prioritized"}
}

func report(out *createFleetResult, offers []*offer, capacityType string) {
	for _, o := range offers {
		if o.code != "" {
			out.Errors.Items = append(out.Errors.Items, fleetError{o.shown, capacityType, o.code, o.message})
		}
		if len(o.instanceIDs) > 0 {
			zone := o.launch.subnet.zone
			out.Instances.Items = append(out.Instances.Items, fleetInstances{
				o.shown, capacityType, setOf(o.instanceIDs), o.launch.facts.Name, zone.Name, zone.ID, o.launch.subnet.id,
			})
		}
	}
}

// offers expands the fleet's templates and overrides. A missing template fails the whole call. An
// error in one override makes its offer dead and appears in the result, as on EC2.
func (s *Service) offers(in *createFleetRequest, capacityType, fleetID string) ([]*offer, error) {
	var offers []*offer
	v := s.view()
	for _, config := range in.LaunchTemplateConfigs {
		template, err := s.templateSeenBy(v, config.Specification.ID, config.Specification.Name)
		if err != nil {
			return nil, err
		}
		version, number, err := template.version(config.Specification.Version)
		if err != nil {
			return nil, err
		}
		shown := fleetTemplate{ID: template.id, Name: template.name, Version: strconv.Itoa(number)}
		instanceTags, err := tagsFor("instance", version.data.TagSpecifications, in.TagSpecifications)
		if err != nil {
			return nil, err
		}
		instanceTags["aws:ec2:fleet-id"] = fleetID
		instanceTags["aws:ec2launchtemplate:id"] = template.id
		instanceTags["aws:ec2launchtemplate:version"] = strconv.Itoa(number)
		volumeTags, err := tagsFor("volume", version.data.TagSpecifications, in.TagSpecifications)
		if err != nil {
			return nil, err
		}
		overrides := config.Overrides
		if len(overrides) == 0 {
			overrides = []fleetOverride{{}}
		}
		for _, override := range overrides {
			base := launch{
				capacityType: capacityType, data: version.data, instanceTags: instanceTags, volumeTags: volumeTags,
				fleetID:    fleetID,
				templateID: template.id, clientToken: in.ClientToken,
			}
			more, err := s.offersOf(base, shown, override)
			if err != nil {
				return nil, err
			}
			offers = append(offers, more...)
		}
	}
	return offers, nil
}

// offersOf returns one offer for each subnet that an override allows.
func (s *Service) offersOf(base launch, template fleetTemplate, override fleetOverride) ([]*offer, error) {
	setText(&base.data.ImageID, override.ImageID)
	setText(&base.data.InstanceType, override.InstanceType)
	base.data.Placement = overridden(base.data.Placement, override.Placement)
	if base.data.InstanceType == "" {
		return nil, refuse(codeInvalidFleetConfiguration, "The launch template %s and its override name no instance type",
			template.ID)
	}
	if base.facts = s.typeOf[base.data.InstanceType]; base.facts == nil {
		return nil, refuse(codeInvalidParameterValue, "Invalid instance type: %s", base.data.InstanceType)
	}
	maxPrice := 0.0
	if override.MaxPrice != "" {
		var err error
		if maxPrice, err = strconv.ParseFloat(override.MaxPrice, 64); err != nil || maxPrice <= 0 {
			return nil, invalidValue(override.MaxPrice, "MaxPrice", "Expecting a price in US dollars above 0.")
		}
	}
	subnets, err := s.subnetsFor(&base.data, override.SubnetID, override.AvailabilityZone, override.AvailabilityZoneID)
	if err != nil {
		return nil, err
	}
	var offers []*offer
	for _, subnet := range subnets {
		o := &offer{launch: base, maxPrice: maxPrice, priority: math.Inf(1)}
		if override.Priority != nil {
			o.priority = *override.Priority
		}
		o.launch.subnet = subnet
		shown := override
		shown.InstanceType, shown.SubnetID, shown.AvailabilityZone = base.facts.Name, subnet.id, subnet.zone.Name
		if override.Placement != nil && override.Placement.GroupName != "" {
			shown.ShownPlacement = &fleetPlacementXML{override.Placement.GroupName}
		}
		o.shown = templateAndOverrides{template, shown}
		s.examine(o)
		offers = append(offers, o)
	}
	return offers, nil
}

// overridden is a template's placement with an override's changes.
func overridden(template *placement, over *fleetOverPlacement) *placement {
	if over == nil {
		return template
	}
	p := placement{}
	if template != nil {
		p = *template
	}
	setText(&p.Tenancy, over.Tenancy)
	if over.GroupID != "" || over.GroupName != "" {
		p.GroupID, p.GroupName = over.GroupID, over.GroupName
	}
	setPointer(&p.PartitionNumber, over.PartitionNumber)
	return &p
}

// examine finds errors that make an offer impossible, whatever the capacity.
func (s *Service) examine(o *offer) {
	fail := func(code, message string) { o.dead, o.code, o.message = true, s.refused(&o.launch, code), message }
	zone := o.launch.subnet.zone.Name
	switch price := o.launch.price(); {
	case !slices.Contains(o.launch.facts.Zones, zone):
		fail(codeInvalidFleetConfiguration,
			fmt.Sprintf("Your requested instance type (%s) is not supported in your requested Availability Zone (%s).",
				o.launch.facts.Name, zone))
	case o.launch.capacityType == Spot && o.maxPrice > 0 && price > o.maxPrice:
		fail("SpotMaxPriceTooLow",
			fmt.Sprintf("Your Spot request price of %g is lower than the minimum required Spot request fulfillment price of %g.",
				o.maxPrice, price))
	default:
		if err := s.resolve(&o.launch); err != nil {
			var refused *wire.Error
			if errors.As(err, &refused) {
				fail(refused.Code, refused.Message)
			} else {
				fail("InternalError", err.Error())
			}
		}
	}
}

// subnetsFor returns the subnets that a launch may use: those it names, those of the zone it names,
// or all.
func (s *Service) subnetsFor(data *launchTemplateData, subnetIDs, zoneName, zoneID string) ([]*subnet, error) {
	if subnetIDs == "" {
		for _, n := range data.NetworkInterfaces {
			setText(&subnetIDs, n.SubnetID)
		}
	}
	if data.Placement != nil && zoneName == "" && zoneID == "" {
		zoneName, zoneID = data.Placement.AvailabilityZone, data.Placement.AvailabilityZoneID
	}
	var subnets []*subnet
	if subnetIDs == "" {
		subnets = slices.Clone(s.vpc.subnets)
	} else {
		for id := range strings.SplitSeq(subnetIDs, ",") {
			subnet := s.vpc.subnet(strings.TrimSpace(id))
			if subnet == nil {
				return nil, refuse("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", strings.TrimSpace(id))
			}
			subnets = append(subnets, subnet)
		}
	}
	fits := slices.DeleteFunc(subnets, func(n *subnet) bool {
		return zoneName != "" && n.zone.Name != zoneName || zoneID != "" && n.zone.ID != zoneID
	})
	if len(fits) == 0 {
		return nil, refuse(codeInvalidParameterValue, "No subnet (of %q) is in the Availability Zone %s%s", subnetIDs,
			zoneName, zoneID)
	}
	return fits, nil
}

package launch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// mostTrials is how many launches of a class EC2 is asked about at most. Each costs some dry runs while
// EC2 refuses.
const mostTrials = 4

// Trial is a launch that a dry run asks about.
type Trial struct {
	InstanceType string
	CapacityType string // spot or on-demand
	Image        api.AMI
	// Subnets are in zones that offer the type. A policy may deny single ones, so that some are tried.
	Subnets []api.Subnet
}

// candidate is a launch that a pool allows.
type candidate struct {
	Trial
	family string
	price  float64
	exotic bool
}

// Trials are the cheapest launches that differ most: in the image, the capacity type and the instance
// family. A policy of the organization often allows a part of them only, and an image may not be shared.
func Trials(class *api.EC2NodeClass, pools []api.NodePool, types []catalog.InstanceType) []Trial {
	candidates := candidatesOf(class, pools, types)
	if plain := slices.DeleteFunc(slices.Clone(candidates), func(c candidate) bool { return c.exotic }); len(plain) > 0 {
		candidates = plain
	}
	var made []Trial
	for _, of := range []func(candidate) string{
		func(c candidate) string { return c.Image.ID },
		func(c candidate) string { return c.CapacityType },
		func(c candidate) string { return c.family },
	} {
		seen := map[string]bool{}
		for _, c := range candidates {
			if slices.ContainsFunc(made, c.isIn) {
				seen[of(c)] = true
			}
		}
		for _, c := range candidates {
			if len(made) < mostTrials && !seen[of(c)] {
				seen[of(c)] = true
				made = append(made, c.Trial)
			}
		}
	}
	return made
}

func (c candidate) isIn(trial Trial) bool {
	return c.InstanceType == trial.InstanceType && c.CapacityType == trial.CapacityType
}

// candidatesOf are the launches that some pool allows, the cheapest first. Reserved capacity is launched
// as if it were on demand.
func candidatesOf(class *api.EC2NodeClass, pools []api.NodePool, types []catalog.InstanceType) []candidate {
	var found []candidate
	for p := range pools {
		requirements, err := scheduling.FromTerms(pools[p].Spec.Template.Spec.Requirements)
		if err != nil {
			continue // the pool gets no node
		}
		requirements = OfType(requirements)
		for i := range types {
			if !types[i].Requirements.IsCompatible(requirements, scheduling.UndefinedIsAbsent) {
				continue
			}
			if image := imageFor(class.Status.AMIs, types[i].Requirements); image != nil {
				found = append(found, launchesOf(class, requirements, &types[i], *image)...)
			}
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.price, b.price), strings.Compare(a.InstanceType, b.InstanceType),
			strings.Compare(a.CapacityType, b.CapacityType))
	})
	return found
}

// launchesOf are the type's launches that the requirements allow, one for each capacity type, in the
// subnets of the zones that offer it.
func launchesOf(
	class *api.EC2NodeClass, requirements scheduling.Requirements, of *catalog.InstanceType, image api.AMI,
) []candidate {
	var made []candidate
	for _, capacityType := range []string{api.CapacityTypeSpot, api.CapacityTypeOnDemand} {
		c := candidate{exotic: of.Exotic}
		c.InstanceType, c.CapacityType, c.Image = of.Name, capacityType, image
		c.family, _, _ = strings.Cut(of.Name, ".")
		zones := map[string]bool{}
		for i := range of.Offerings {
			offering := &of.Offerings[i]
			bought := offering.CapacityType
			if bought == api.CapacityTypeReserved {
				bought = api.CapacityTypeOnDemand
			}
			if bought != capacityType || !offering.Available || !offering.AllowedBy(requirements) {
				continue
			}
			if len(zones) == 0 || offering.Price < c.price {
				c.price = offering.Price
			}
			zones[offering.Zone] = true
		}
		for _, subnet := range class.Status.Subnets {
			if zones[subnet.Zone] {
				c.Subnets = append(c.Subnets, subnet)
			}
		}
		if len(c.Subnets) > 0 {
			made = append(made, c)
		}
	}
	return made
}

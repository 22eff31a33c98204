package classes

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/inventory"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/shared/scheduling"
)

// mostTrials is how many launches of a class EC2 is asked about at most. Each costs some dry runs while
// EC2 refuses.
const mostTrials = 4

// trials are launches of the resolved class that its NodePools allow. There is none while no pool names
// the class.
func trials(
	ctx context.Context, client *cluster.Client, class *api.EC2NodeClass, now time.Time,
) ([]fleet.Trial, error) {
	pools, err := client.NodePools(ctx)
	if err != nil {
		return nil, err
	}
	pools = slices.DeleteFunc(pools, func(pool api.NodePool) bool {
		ref := pool.Spec.Template.Spec.NodeClassRef
		return ref == nil || ref.Name != class.Name || pool.DeletionTimestamp != nil
	})
	if len(pools) == 0 {
		return nil, nil
	}
	known, err := inventory.Catalog(ctx, client)
	if err != nil {
		return nil, err
	}
	types := catalog.Resolve(known, nodeclass.Planned(class), catalog.Observed{}, now)
	return trialsOf(class, pools, types), nil
}

// candidate is a launch that a pool allows.
type candidate struct {
	fleet.Trial
	family string
	price  float64
	exotic bool
}

// trialsOf are the cheapest launches that differ most: in the image, the capacity type and the instance
// family. A policy of the organization often allows a part of them only, and an image may not be shared.
func trialsOf(class *api.EC2NodeClass, pools []api.NodePool, types []catalog.InstanceType) []fleet.Trial {
	candidates := candidatesOf(class, pools, types)
	if plain := slices.DeleteFunc(slices.Clone(candidates), func(c candidate) bool { return c.exotic }); len(plain) > 0 {
		candidates = plain
	}
	var made []fleet.Trial
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

func (c candidate) isIn(trial fleet.Trial) bool {
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
		requirements = launch.OfType(requirements)
		for i := range types {
			if !types[i].Requirements.IsCompatible(requirements, scheduling.UndefinedIsAbsent) {
				continue
			}
			if image, has := launch.ImageOf(class, &types[i]); has {
				found = append(found, launchesOf(class, requirements, &types[i], image)...)
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

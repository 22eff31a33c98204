package catalog

import "github.com/whittle-dev/whittle/shared/api"

// Coverage says that a commitment pays for a node of an offering: a Reserved Instance or a Savings Plan. Offerings
// with the same commitment share what is left of it.
type Coverage struct {
	// Commitment is its id.
	Commitment string `json:"commitment"`
	// Units is what a node takes of the commitment, and Left what this plan may take. A unit is the same for all
	// offerings of a commitment.
	Units int `json:"units"`
	Left  int `json:"left"`
}

// Cover is what is left of a commitment, for nodes with Linux and shared tenancy.
type Cover struct {
	Commitment string
	// Zone is the zone in which it holds; empty for all.
	Zone string
	Left int
	// Units is what a node takes, by instance type. It does not pay for other types.
	Units map[string]int
}

// coveredOfferings returns, for each on-demand offering that a commitment still pays for, one that costs as little as
// a capacity reservation's. Its node is the same instance.
func (m *model) coveredOfferings(info *InstanceTypeInfo, offerings []Offering) []Offering {
	if len(m.observed.Covers) == 0 || !m.isCoverable() {
		return nil
	}
	var covered []Offering
	for i := range offerings {
		o := &offerings[i]
		if o.CapacityType != api.CapacityTypeOnDemand || !o.Available {
			continue
		}
		for _, cover := range m.observed.Covers {
			units := cover.Units[info.InstanceType]
			if units <= 0 || units > cover.Left || cover.Zone != "" && cover.Zone != o.Zone {
				continue
			}
			one := *o
			one.Price = o.Price / reservedPriceDivisor
			one.Coverage = &Coverage{Commitment: cover.Commitment, Units: units, Left: cover.Left}
			covered = append(covered, one)
		}
	}
	return covered
}

// Commitment is the commitment that pays for a node of the offering, or nothing.
func (o *Offering) Commitment() string {
	if o.Coverage == nil {
		return ""
	}
	return o.Coverage.Commitment
}

// isCoverable reports whether the class's instances are those that covers pay for: Linux with shared tenancy.
// Commitments for Windows are others.
func (m *model) isCoverable() bool {
	switch m.class.AMIFamily() {
	case api.AMIFamilyWindows2019, api.AMIFamilyWindows2022, api.AMIFamilyWindows2025:
		return false
	}
	return true
}

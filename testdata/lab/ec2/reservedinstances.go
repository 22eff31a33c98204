package ec2

import (
	"slices"
	"strconv"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// ReservedInstances is one purchase of Reserved Instances. They change the account's bill, and hold
// no machine here: those of a zone reserve capacity on EC2, which the local pools have for
// everybody. https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ReservedInstances.html
type ReservedInstances struct {
	// ID is given by BuyReservedInstances.
	ID           string
	InstanceType string
	Count        int
	// Zone is the zone of a zonal purchase; empty for one of the region.
	Zone string
	// Product is the description of the platform; empty means Linux/UNIX. Dedicated is its tenancy.
	Product   string
	Dedicated bool
	// Start and End bound the term; a zero Start is now, a zero End a year later.
	Start, End time.Time
	// State is one of EC2's; empty means active.
	State string
	// Class and Payment are EC2's words; empty means standard and No Upfront.
	Class, Payment string
	// FixedPrice, UsagePrice and Hourly are prices of each instance: of the purchase, of an hour of
	// use, and of each hour of the term.
	FixedPrice, UsagePrice, Hourly float64
	Tags                           map[string]string
}

func (r *ReservedInstances) scope() string {
	if r.Zone != "" {
		return "Availability Zone"
	}
	return "Region"
}

// BuyReservedInstances adds a purchase to the account and returns its id.
func (s *Service) BuyReservedInstances(bought ReservedInstances) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.typeOf[bought.InstanceType] == nil {
		return "", refuse(codeInvalidParameterValue, "Invalid instance type: %s", bought.InstanceType)
	}
	if bought.Zone != "" && !slices.ContainsFunc(s.vpc.zones, func(z zone) bool { return z.Name == bought.Zone }) {
		return "", invalidValue(bought.Zone, "AvailabilityZone", "Expecting a zone of the region.")
	}
	if bought.Count < 1 {
		return "", invalidValue(bought.Count, "InstanceCount", "Expecting at least 1.")
	}
	bought.ID = wire.NewID()
	setDefault(&bought.Product, productLinux)
	setDefault(&bought.State, "active")
	setDefault(&bought.Class, "standard")
	setDefault(&bought.Payment, "No Upfront")
	if bought.Start.IsZero() {
		bought.Start = s.config.Now()
	}
	if bought.End.IsZero() {
		bought.End = bought.Start.AddDate(1, 0, 0)
	}
	s.purchases = append(s.purchases, bought)
	return bought.ID, nil
}

// describeReservedInstances answers all purchases at once: the action has no pages.
func (s *Service) describeReservedInstances(_ *wire.Call, in *describeReservedInstancesRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	type T = ReservedInstances
	var all []T
	for _, id := range in.IDs {
		if !slices.ContainsFunc(s.purchases, func(r T) bool { return r.ID == id }) {
			return nil, refuse("InvalidReservedInstancesID.NotFound", "The reserved instances ID '%s' does not exist", id)
		}
	}
	for _, r := range s.purchases {
		if (len(in.IDs) == 0 || slices.Contains(in.IDs, r.ID)) && (in.OfferingClass == "" || in.OfferingClass == r.Class) &&
			(in.OfferingType == "" || in.OfferingType == r.Payment) {
			all = append(all, r)
		}
	}
	all, err := matching(all, in.Filters, fields[T]{
		"availability-zone":     func(r T) []string { return one(r.Zone) },
		"duration":              func(r T) []string { return one(strconv.FormatInt(r.seconds(), 10)) },
		"end":                   func(r T) []string { return one(timestamp(r.End)) },
		"instance-type":         func(r T) []string { return one(r.InstanceType) },
		"product-description":   func(r T) []string { return one(r.Product) },
		"reserved-instances-id": func(r T) []string { return one(r.ID) },
		"scope":                 func(r T) []string { return one(r.scope()) },
		"start":                 func(r T) []string { return one(timestamp(r.Start)) },
		"state":                 func(r T) []string { return one(r.State) },
	}, func(r T) map[string]string { return r.Tags })
	if err != nil {
		return nil, err
	}
	out := &describeReservedInstancesResult{}
	for i := range all {
		out.ReservedInstances.Items = append(out.ReservedInstances.Items, s.describePurchase(&all[i]))
	}
	return out, nil
}

func (r *ReservedInstances) seconds() int64 { return int64(r.End.Sub(r.Start) / time.Second) }

func (s *Service) describePurchase(r *ReservedInstances) reservedInstancesXML {
	x := reservedInstancesXML{
		ID: r.ID, InstanceType: r.InstanceType, AvailabilityZone: r.Zone, Start: timestamp(r.Start), End: timestamp(r.End),
		Duration: r.seconds(), UsagePrice: r.UsagePrice, FixedPrice: r.FixedPrice, InstanceCount: r.Count,
		ProductDescription: r.Product, State: r.State, Tenancy: "default", CurrencyCode: "USD", OfferingClass: r.Class,
		OfferingType: r.Payment, Scope: r.scope(), Tags: tagSet(r.Tags),
		RecurringCharges: setOf([]recurringCharge{{"Hourly", r.Hourly}}),
	}
	if r.Dedicated {
		x.Tenancy = "dedicated"
	}
	for _, z := range s.vpc.zones {
		if r.Zone != "" && z.Name == r.Zone {
			x.ZoneID = z.ID
		}
	}
	return x
}

package catalog

import "maps"

// VolumePrices are the prices of EBS volumes in a region by what AWS bills: the usage type, without
// the prefix of the region and "EBS:". They are in the snapshot's currency for a month: of a GiB
// (VolumeUsage), of an operation per second (VolumeP-IOPS), of a MiB per second
// (VolumeP-Throughput).
type VolumePrices map[string]float64

// Usage types whose names do not follow from the volume's type.
const (
	usageStandard   = "VolumeUsage"
	usageIO1        = "VolumeUsage.piops"
	usageIO1IOPS    = "VolumeP-IOPS.piops"
	usageIO2IOPS    = "VolumeP-IOPS.io2"
	usageGP3IOPS    = "VolumeP-IOPS.gp3"
	usageThroughput = "VolumeP-Throughput.gp3"
)

const (
	// hoursPerMonth is the usual number in cloud bills.
	hoursPerMonth = 730
	// A gp3 volume includes these operations and MiB per second.
	// https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html
	gp3IOPS, gp3Throughput = 3000, 125
	// The operations per second of io2 have lower prices from these numbers on.
	io2SecondTier, io2ThirdTier = 32_000, 64_000
	// publicAddressPrice is the price of a public IPv4 address in US dollars an hour, in all regions
	// that bill in dollars. https://aws.amazon.com/vpc/pricing/
	publicAddressPrice = 0.005
)

// BuiltinVolumePrices returns the prices of us-east-1 in US dollars.
// https://aws.amazon.com/ebs/pricing/
func BuiltinVolumePrices() VolumePrices {
	return VolumePrices{
		"VolumeUsage.gp3": 0.08, usageGP3IOPS: 0.005, usageThroughput: 0.04,
		"VolumeUsage.gp2": 0.10,
		usageIO1:          0.125, usageIO1IOPS: 0.065,
		"VolumeUsage.io2": 0.125, usageIO2IOPS: 0.065, usageIO2IOPS + ".tier2": 0.0455, usageIO2IOPS + ".tier3": 0.03185,
		"VolumeUsage.st1": 0.045, "VolumeUsage.sc1": 0.015, usageStandard: 0.05,
	}
}

// VolumePricesOf returns the snapshot's volume prices. The built-in ones fill gaps, except where
// prices are not in US dollars. A nil snapshot has the built-in ones.
func VolumePricesOf(s *Catalog) VolumePrices {
	if s == nil {
		return BuiltinVolumePrices()
	}
	if !s.inDollars() {
		return s.VolumePrices
	}
	prices := BuiltinVolumePrices()
	maps.Copy(prices, s.VolumePrices)
	return prices
}

// PublicAddressPrice returns the price of a public IPv4 address for an hour. It is zero where
// prices are not in US dollars, because AWS publishes none there. The snapshot may be nil.
func PublicAddressPrice(s *Catalog) float64 {
	if s != nil && !s.inDollars() {
		return 0
	}
	return publicAddressPrice
}

func (s *Catalog) inDollars() bool { return s.Prices.Currency == "" || s.Prices.Currency == "USD" }

// Volume is what the price of an EBS volume depends on.
type Volume struct {
	// Type is gp3, gp2, io1, io2, st1, sc1 or standard.
	Type string
	// GiB is the size. IOPS and Throughput (in MiB per second) are zero for the default.
	GiB, IOPS, Throughput int64
}

// PerHour returns the price of the volume for an hour. An unknown price counts as zero. Charges by
// use, such as for the requests of standard volumes, are not part of it.
func (p VolumePrices) PerHour(v Volume) float64 {
	month := 0.0
	charge := func(usage string, amount int64) { month += p[usage] * float64(max(amount, 0)) }
	switch v.Type {
	case "standard":
		charge(usageStandard, v.GiB)
	case "io1":
		charge(usageIO1, v.GiB)
		charge(usageIO1IOPS, v.IOPS)
	case "io2":
		charge("VolumeUsage.io2", v.GiB)
		charge(usageIO2IOPS, min(v.IOPS, io2SecondTier))
		charge(usageIO2IOPS+".tier2", min(v.IOPS, io2ThirdTier)-io2SecondTier)
		charge(usageIO2IOPS+".tier3", v.IOPS-io2ThirdTier)
	case "gp3":
		charge("VolumeUsage.gp3", v.GiB)
		charge(usageGP3IOPS, v.IOPS-gp3IOPS)
		charge(usageThroughput, v.Throughput-gp3Throughput)
	default:
		charge("VolumeUsage."+v.Type, v.GiB)
	}
	return month / hoursPerMonth
}

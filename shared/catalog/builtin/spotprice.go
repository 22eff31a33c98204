package builtin

import (
	"hash/fnv"
	"math"
)

// Bounds of the discount that SpotPrice takes off the on-demand price.
const (
	minimumSpotDiscount = 0.45
	maximumSpotDiscount = 0.80
)

// zoneShare is how much of the range between the bounds comes from the zone; the rest comes from
// the type. Zones of one type thus lie nearer to each other than different types do.
const zoneShare = 0.3

// SpotPrice returns an invented spot price in US dollars an hour for a type in a zone. No public
// source that can be pinned has spot prices. A hash of the two names (FNV-1a) selects a discount on
// the on-demand price, between minimumSpotDiscount and maximumSpotDiscount. Equal arguments give
// equal prices. The price is rounded to a millionth of a dollar, as in EC2's price history. It is 0
// for an on-demand price that is not a positive finite number.
func SpotPrice(typeName, zone string, onDemand float64) float64 {
	if !(onDemand > 0) || math.IsInf(onDemand, 1) {
		return 0
	}
	position := (1-zoneShare)*fraction(typeName) + zoneShare*fraction(typeName+" "+zone)
	discount := minimumSpotDiscount + (maximumSpotDiscount-minimumSpotDiscount)*position
	return math.Round(onDemand*(1-discount)*1e6) / 1e6
}

// fraction spreads texts evenly over [0, 1).
func fraction(text string) float64 {
	hash := fnv.New64a()
	hash.Write([]byte(text)) // never fails, by hash.Hash's contract
	bits := hash.Sum64()
	// A change of the last character hardly reaches the high bits of FNV-1a, so all zones of a type
	// would have the same price. Folding the low half into the high one, and multiplying by an odd
	// number (2^64 divided by the golden ratio), spreads it.
	bits = (bits ^ bits<<32) * 0x9e3779b97f4a7c15
	return float64(bits>>11) / (1 << 53)
}

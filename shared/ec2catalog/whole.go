package ec2catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog"
)

// doubted is how long a snapshot with many more offerings counts against a new one. Then the offer has
// indeed become smaller.
const doubted = 24 * time.Hour

// whole returns why EC2's answers cannot be all of its offer, or nil. The previous snapshot may be nil.
func whole(read *catalog.Catalog, zonesOf map[string][]string, previous *catalog.Catalog) error {
	offerings := 0
	for _, zones := range zonesOf {
		offerings += len(zones)
	}
	switch {
	case len(read.InstanceTypes) == 0:
		return errors.New("DescribeInstanceTypes answered with no type")
	case offerings == 0:
		return errors.New("DescribeInstanceTypeOfferings answered with no offering")
	case len(read.Zones) == 0:
		return errors.New("DescribeAvailabilityZones answered with no zone")
	case previous == nil || read.Time.Sub(previous.Time) >= doubted:
		return nil
	}
	return smaller(read, zonesOf, previous)
}

// smaller returns by how much EC2 offers less than before, or nil where it is little.
func smaller(read *catalog.Catalog, zonesOf map[string][]string, previous *catalog.Catalog) error {
	before, after := map[string]int{}, map[string]int{} // by zone
	sumBefore, sumAfter := 0, 0
	for i := range previous.InstanceTypes {
		for _, zone := range previous.InstanceTypes[i].Zones {
			before[zone]++
			sumBefore++
		}
	}
	for i := range read.InstanceTypes {
		for _, zone := range zonesOf[read.InstanceTypes[i].InstanceType] {
			after[zone]++
			sumAfter++
		}
	}
	at := previous.Time.UTC().Format(time.RFC3339)
	if 2*sumAfter < sumBefore {
		return fmt.Errorf("EC2 names %d offerings, and named %d at %s: the old ones stay for a day", sumAfter, sumBefore, at)
	}
	for _, zone := range slices.Sorted(maps.Keys(before)) {
		if after[zone] == 0 {
			return fmt.Errorf("EC2 names no offering in zone %s, and named %d at %s: the old ones stay for a day",
				zone, before[zone], at)
		}
	}
	return nil
}

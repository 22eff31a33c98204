package catalog

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// UnavailableFor is how long an offering is left out after EC2 had no capacity for it: Karpenter's three minutes, after which it is worth another try.
const UnavailableFor = 3 * time.Minute

// Unavailable is what EC2 lately could not give: offerings, a whole capacity type, subnets without addresses, used up reservations and quotas. Its JSON
// is an object from a key to the time until which what the key names is left out. Keys that a reader does not know it does not look up. The zero value
// is empty and ready, and a nil pointer is empty.
type Unavailable struct {
	// Until has the times by key: OfferingKey and the others below.
	Until map[string]time.Time `json:"until,omitempty"`
}

// OfferingKey names an offering: "spot:m5.large:us-east-1a".
func OfferingKey(capacityType, instanceType, zone string) string {
	return capacityType + ":" + instanceType + ":" + zone
}

// CapacityTypeKey names all offerings of a capacity type: "spot:*:*". An empty one names all offerings.
func CapacityTypeKey(capacityType string) string {
	if capacityType == "" {
		capacityType = "*"
	}
	return OfferingKey(capacityType, "*", "*")
}

// InGroup narrows a key of OfferingKey to launches into a placement group, by the group's id: "spot:m5.large:us-east-1a:pg-0123". What a group has no
// room for others may have.
func InGroup(key, group string) string { return key + ":" + group }

// GroupZoneKey names all offerings of a zone for launches into a placement group: "*:*:us-east-1a:pg-0123".
func GroupZoneKey(zone, group string) string { return InGroup(OfferingKey("*", "*", zone), group) }

// SubnetKey names a subnet: "subnet:subnet-0123".
func SubnetKey(id string) string { return "subnet:" + id }

// ReservationKey names a capacity reservation: "reservation:cr-0123".
func ReservationKey(id string) string { return "reservation:" + id }

// QuotaKey names the offerings that share a vCPU quota with an instance type: "quota:spot:standard".
func QuotaKey(capacityType, instanceType string) string {
	return "quota:" + capacityType + ":" + quotaClass(instanceType)
}

// familyLetters are those that an instance type's name begins with.
var familyLetters = regexp.MustCompile(`^[a-z]+`)

// quotaClass is the class of families that one vCPU quota of the account is for, for on-demand and spot alike.
// https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
func quotaClass(instanceType string) string {
	switch letters := familyLetters.FindString(instanceType); letters {
	case "a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z":
		return "standard"
	case "g", "gr", "vt":
		return "g"
	default: // f, p, x, inf, trn, dl, hpc, u: each has its own
		return letters
	}
}

// ParseOfferingKey is OfferingKey's inverse.
func ParseOfferingKey(key string) (capacityType, instanceType, zone string, err error) {
	parts := strings.Split(key, ":")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return "", "", "", fmt.Errorf("offering key %q: want capacityType:instanceType:zone, such as %q", key, OfferingKey(api.CapacityTypeSpot, "m5.large", "us-east-1a"))
	}
	return parts[0], parts[1], parts[2], nil
}

// Mark leaves an offering out until UnavailableFor after now.
func (u *Unavailable) Mark(capacityType, instanceType, zone string, now time.Time) {
	u.LeaveOut(OfferingKey(capacityType, instanceType, zone), now.Add(UnavailableFor))
}

// LeaveOut leaves out what the key names until the time, or until a later one that is known.
func (u *Unavailable) LeaveOut(key string, until time.Time) {
	if u.Until == nil {
		u.Until = map[string]time.Time{}
	}
	if until = until.UTC(); until.After(u.Until[key]) {
		u.Until[key] = until
	}
}

// Has reports whether an offering is left out at the time: by itself, or with its capacity type or its quota.
func (u *Unavailable) Has(capacityType, instanceType, zone string, now time.Time) bool {
	if u == nil || len(u.Until) == 0 {
		return false
	}
	return u.out(OfferingKey(capacityType, instanceType, zone), now) || u.out(CapacityTypeKey(capacityType), now) ||
		u.out(CapacityTypeKey(""), now) || u.out(QuotaKey(capacityType, instanceType), now)
}

// HasInGroup reports whether an offering is left out at the time for launches into the placement group (nil is none).
func (u *Unavailable) HasInGroup(group *api.PlacementGroup, capacityType, instanceType, zone string, now time.Time) bool {
	if u.Has(capacityType, instanceType, zone, now) {
		return true
	}
	return u != nil && group != nil && (u.out(InGroup(OfferingKey(capacityType, instanceType, zone), group.ID), now) || u.out(GroupZoneKey(zone, group.ID), now))
}

// HasSubnet reports whether a subnet is left out at the time: it lately had no free address.
func (u *Unavailable) HasSubnet(id string, now time.Time) bool {
	return u != nil && u.out(SubnetKey(id), now)
}

// HasReservation reports whether a capacity reservation is left out at the time: it lately had no instance left.
func (u *Unavailable) HasReservation(id string, now time.Time) bool {
	return u != nil && (u.out(ReservationKey(id), now) || u.out(CapacityTypeKey(""), now))
}

func (u *Unavailable) out(key string, now time.Time) bool { return now.Before(u.Until[key]) }

// leaveOutOf takes what is left out at the time from the types' available offerings, in place: those of used up reservations, and those of zones where
// none of the subnets has a free address. Resolve has done so with offerings that are left out by themselves.
func (u *Unavailable) leaveOutOf(types []InstanceType, subnets []api.Subnet, now time.Time) {
	if u == nil || len(u.Until) == 0 {
		return
	}
	open := map[string]bool{}
	for _, subnet := range subnets {
		open[subnet.Zone] = open[subnet.Zone] || !u.HasSubnet(subnet.ID, now)
	}
	for i := range types {
		for j := range types[i].Offerings {
			offering := &types[i].Offerings[j]
			if !open[offering.Zone] || offering.ReservationID != "" && u.HasReservation(offering.ReservationID, now) {
				offering.Available = false
			}
		}
	}
}

// Merge takes over what another has: of two times for one key the later, so that the order of merging does not matter.
func (u *Unavailable) Merge(other *Unavailable) {
	if other == nil || len(other.Until) == 0 {
		return
	}
	if u.Until == nil {
		u.Until = make(map[string]time.Time, len(other.Until))
	}
	for key, until := range other.Until {
		if until.After(u.Until[key]) {
			u.Until[key] = until
		}
	}
}

// Clone is a copy that shares nothing.
func (u *Unavailable) Clone() *Unavailable {
	if u == nil {
		return &Unavailable{}
	}
	return &Unavailable{Until: maps.Clone(u.Until)}
}

// Prune forgets what has run out by now, and reports whether there was any.
func (u *Unavailable) Prune(now time.Time) bool {
	before := len(u.Until)
	maps.DeleteFunc(u.Until, func(_ string, until time.Time) bool { return !now.Before(until) })
	return len(u.Until) != before
}

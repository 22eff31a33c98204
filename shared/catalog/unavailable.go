package catalog

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// UnavailableFor is the time for which an offering is left out after EC2 had no capacity for it:
// Karpenter's three minutes.
const UnavailableFor = 3 * time.Minute

// Unavailable holds what EC2 recently lacked: offerings, capacity types, subnets without addresses,
// used up reservations and quotas. Its JSON maps keys to the time until which they are left out.
// Readers ignore unknown keys. The zero value is empty and ready, and a nil pointer is empty.
type Unavailable struct {
	// Until maps the keys of OfferingKey and the functions below to times.
	Until map[string]time.Time `json:"until,omitempty"`
	// Shifted maps the ids of zones that a zonal shift moves traffic away from, such as use1-az1, to
	// the end of the shift. Unlike Until it is replaced as a whole, because a shift may be cancelled.
	Shifted map[string]time.Time `json:"shifted,omitempty"`
	// Interruptions remembers the spot nodes that EC2 took back. It makes offerings dearer, see
	// WithRisk, and leaves none out.
	Interruptions *Interruptions `json:"interruptions,omitempty"`
}

// OfferingKey returns the key of an offering, such as "spot:m5.large:us-east-1a".
func OfferingKey(capacityType, instanceType, zone string) string {
	return capacityType + ":" + instanceType + ":" + zone
}

// CapacityTypeKey returns the key of all offerings of a capacity type, such as "spot:*:*". An empty
// capacity type stands for all offerings.
func CapacityTypeKey(capacityType string) string {
	if capacityType == "" {
		capacityType = "*"
	}
	return OfferingKey(capacityType, "*", "*")
}

// InGroup restricts a key of OfferingKey to launches into a placement group, by the group's id:
// "spot:m5.large:us-east-1a:pg-0123". Launches outside the group may still have capacity.
func InGroup(key, group string) string { return key + ":" + group }

// OfClass restricts a key of OfferingKey to launches with an EC2NodeClass:
// "spot:m5.large:us-east-1a:ec2nodeclass/default".
func OfClass(key, class string) string { return key + ":ec2nodeclass/" + class }

// GroupZoneKey returns the key of all launches into a placement group in a zone:
// "*:*:us-east-1a:pg-0123".
func GroupZoneKey(zone, group string) string { return InGroup(OfferingKey("*", "*", zone), group) }

// SubnetKey returns the key of a subnet: "subnet:subnet-0123".
func SubnetKey(id string) string { return "subnet:" + id }

// ReservationKey returns the key of a capacity reservation: "reservation:cr-0123".
func ReservationKey(id string) string { return "reservation:" + id }

// QuotaKey returns the key of the offerings that share a vCPU quota with an instance type:
// "quota:spot:standard".
func QuotaKey(capacityType, instanceType string) string {
	return "quota:" + capacityType + ":" + quotaClass(instanceType)
}

var letters = regexp.MustCompile(`^[a-z]+`)

// FamilyLetters returns the letters at the start of the name of an instance type or of a family. They tell
// its kind, such as gr.
func FamilyLetters(name string) string { return letters.FindString(name) }

// quotaClass returns the class of families with a common vCPU quota, for on-demand and spot alike.
// https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html
func quotaClass(instanceType string) string {
	switch kind := FamilyLetters(instanceType); kind {
	case "a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z":
		return "standard"
	case "g", "gr", "vt":
		return "g"
	default: // f, p, x, inf, trn, dl, hpc, u: each has its own
		return kind
	}
}

// ParseOfferingKey is the inverse of OfferingKey. The error gives the wanted form.
func ParseOfferingKey(key string) (capacityType, instanceType, zone string, err error) {
	parts := strings.Split(key, ":")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return "", "", "", fmt.Errorf(
			"offering key %q: want capacityType:instanceType:zone, such as %q", key,
			OfferingKey(api.CapacityTypeSpot, "m5.large", "us-east-1a"),
		)
	}
	return parts[0], parts[1], parts[2], nil
}

// Mark leaves an offering out until UnavailableFor after now.
func (u *Unavailable) Mark(capacityType, instanceType, zone string, now time.Time) {
	u.LeaveOut(OfferingKey(capacityType, instanceType, zone), now.Add(UnavailableFor))
}

// LeaveOut leaves a key out until the given time, or until a later time that is known already.
func (u *Unavailable) LeaveOut(key string, until time.Time) {
	if u.Until == nil {
		u.Until = map[string]time.Time{}
	}
	if until = until.UTC(); until.After(u.Until[key]) {
		u.Until[key] = until
	}
}

// Has reports whether an offering is left out at the given time: itself, its capacity type or its
// quota.
func (u *Unavailable) Has(capacityType, instanceType, zone string, now time.Time) bool {
	if u == nil || len(u.Until) == 0 {
		return false
	}
	return u.out(OfferingKey(capacityType, instanceType, zone), now) || u.out(CapacityTypeKey(capacityType), now) ||
		u.out(CapacityTypeKey(""), now) || u.out(QuotaKey(capacityType, instanceType), now)
}

// HasFor reports whether an offering is left out at the given time for launches with the class: for all
// launches, for those of the class, or for those into its placement group.
func (u *Unavailable) HasFor(class *api.EC2NodeClass, capacityType, instanceType, zone string, now time.Time) bool {
	if u == nil || len(u.Until) == 0 {
		return false
	}
	key := OfferingKey(capacityType, instanceType, zone)
	if u.Has(capacityType, instanceType, zone, now) || u.out(OfClass(key, class.Name), now) {
		return true
	}
	group := placementGroup(class)
	return group != nil && (u.out(InGroup(key, group.ID), now) || u.out(GroupZoneKey(zone, group.ID), now))
}

// HasSubnet reports whether a subnet is left out at the given time, because it had no free address.
func (u *Unavailable) HasSubnet(id string, now time.Time) bool {
	return u != nil && u.out(SubnetKey(id), now)
}

// HasReservation reports whether a capacity reservation is left out at the given time, because it
// had no free instance.
func (u *Unavailable) HasReservation(id string, now time.Time) bool {
	return u != nil && (u.out(ReservationKey(id), now) || u.out(CapacityTypeKey(""), now))
}

// IsShifted reports whether a zonal shift moves traffic away from the zone with the id at the given
// time. Nothing is launched there.
func (u *Unavailable) IsShifted(zoneID string, now time.Time) bool {
	return u != nil && now.Before(u.Shifted[zoneID])
}

func (u *Unavailable) out(key string, now time.Time) bool { return now.Before(u.Until[key]) }

// leaveOutOf marks offerings of the types as unavailable, in place: those of left out reservations,
// those of zones where every subnet is left out, and those of shifted zones. Resolve has already
// handled offerings that are left out themselves.
func (u *Unavailable) leaveOutOf(types []InstanceType, subnets []api.Subnet, now time.Time) {
	if u == nil || len(u.Until)+len(u.Shifted) == 0 {
		return
	}
	open := map[string]bool{}
	for _, subnet := range subnets {
		open[subnet.Zone] = open[subnet.Zone] || !u.HasSubnet(subnet.ID, now)
	}
	for i := range types {
		for j := range types[i].Offerings {
			offering := &types[i].Offerings[j]
			if !open[offering.Zone] || u.IsShifted(offering.ZoneID, now) ||
				offering.ReservationID != "" && u.HasReservation(offering.ReservationID, now) {
				offering.Available = false
			}
		}
	}
}

// Merge adds the keys of another. Of two times for a key the later counts, so the order of merges
// does not matter. The shifted zones and the interruptions stay as they are.
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

// Clone returns a deep copy.
func (u *Unavailable) Clone() *Unavailable {
	if u == nil {
		return &Unavailable{}
	}
	return &Unavailable{
		Until: maps.Clone(u.Until), Shifted: maps.Clone(u.Shifted), Interruptions: u.Interruptions.Clone(),
	}
}

// Prune drops the keys whose time is over, and reports whether there were any.
func (u *Unavailable) Prune(now time.Time) bool {
	before := len(u.Until) + len(u.Shifted)
	over := func(_ string, until time.Time) bool { return !now.Before(until) }
	maps.DeleteFunc(u.Until, over)
	maps.DeleteFunc(u.Shifted, over)
	return len(u.Until)+len(u.Shifted) != before
}

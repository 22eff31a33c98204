package catalog

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
)

// UnavailableFor is how long an offering is left out after EC2 had no capacity for it: Karpenter's three minutes, after which it is worth another try.
const UnavailableFor = 3 * time.Minute

// Unavailable are the offerings that EC2 lately could not give. Its JSON is an object from "capacityType:instanceType:zone" to the time until which the
// offering is left out. The zero value is empty and ready.
type Unavailable struct {
	// Until has the times by key (OfferingKey).
	Until map[string]time.Time `json:"until,omitempty"`
}

// OfferingKey names an offering: "spot:m5.large:us-east-1a".
func OfferingKey(capacityType, instanceType, zone string) string {
	return capacityType + ":" + instanceType + ":" + zone
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
	if u.Until == nil {
		u.Until = map[string]time.Time{}
	}
	key := OfferingKey(capacityType, instanceType, zone)
	if until := now.Add(UnavailableFor).UTC(); until.After(u.Until[key]) {
		u.Until[key] = until
	}
}

// Has reports whether an offering is left out at the time.
func (u *Unavailable) Has(capacityType, instanceType, zone string, now time.Time) bool {
	return u != nil && now.Before(u.Until[OfferingKey(capacityType, instanceType, zone)])
}

// Merge takes over what another has: of two times for one offering the later, so that the order of merging does not matter.
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

// Prune forgets what has run out by now, and reports whether there was any.
func (u *Unavailable) Prune(now time.Time) bool {
	before := len(u.Until)
	maps.DeleteFunc(u.Until, func(_ string, until time.Time) bool { return !now.Before(until) })
	return len(u.Until) != before
}

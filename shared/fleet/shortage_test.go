package fleet

import (
	"testing"

	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// TestWhatAPlacementGroupLacksOthersMayHave: a shortage of a launch into a group is the group's.
func TestWhatAPlacementGroupLacksOthersMayHave(t *testing.T) {
	const full = "You've reached the limit of instances in this spread placement group."
	override := launch.Override{InstanceType: "m5.large", Zone: "us-east-1a", SubnetID: "subnet-1"}
	for _, test := range []struct{ name, group, reservation, code, message, want string }{
		{"without a group", "", "", "InsufficientInstanceCapacity", "", "spot:m5.large:us-east-1a"},
		{"in a group", "pg-1", "", "InsufficientInstanceCapacity", "", "spot:m5.large:us-east-1a:pg-1"},
		{
			"in a spread group that is full in the zone", "pg-1", "", "InsufficientInstanceCapacity", full,
			"*:*:us-east-1a:pg-1",
		},
		{"in a cluster group that is in another zone", "pg-1", "", "InvalidPlacementGroup.InUse", "", "*:*:us-east-1a:pg-1"},
		{"whatever the code", "pg-1", "", "InstanceLimitExceeded", full, "*:*:us-east-1a:pg-1"},
		{"those words without a group", "", "", "InsufficientInstanceCapacity", full, "spot:m5.large:us-east-1a"},
		{
			"a reservation that has ended, and no other one", "", "cr-1", "InvalidCapacityReservationState.Unavailable", "",
			"reservation:cr-1",
		},
		{"a reservation is used up for everyone", "pg-1", "cr-1", "ReservationCapacityExceeded", "", "reservation:cr-1"},
		{
			"a zone without the type", "", "", "InvalidFleetConfiguration",
			"Your requested instance type (m5.large) is not supported in your requested Availability Zone (us-east-1a).",
			"spot:m5.large:us-east-1a",
		},
		{"a quota is everyone's", "pg-1", "", "VcpuLimitExceeded", "", "quota:spot:standard"},
	} {
		request := &launch.Request{
			CapacityType: "spot",
			Templates:    []launch.Template{{Content: nodeclass.LaunchTemplate{PlacementGroup: test.group}}},
		}
		if got, short := shortage(request, override, test.reservation, test.code, test.message); !short ||
			got.Key != test.want {
			t.Errorf("%s: %v %q, want %q", test.name, short, got.Key, test.want)
		}
	}
}

// TestAFaultOfTheRequestIsNoShortage has the code of a missing type with another message.
func TestAFaultOfTheRequestIsNoShortage(t *testing.T) {
	override := launch.Override{InstanceType: "m5.large", Zone: "us-east-1a"}
	for _, message := range []string{"", "The fleet has 301 overrides: at most 300 are allowed"} {
		if got, short := shortage(&launch.Request{CapacityType: "spot"}, override, "", "InvalidFleetConfiguration", message); short {
			t.Errorf("%q is the shortage %+v", message, got)
		}
	}
}

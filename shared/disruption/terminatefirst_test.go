package disruption_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/disruption"
)

func TestTerminateFirst(t *testing.T) {
	candidate := func(name, reservation string, reason api.DisruptionReason, ready bool) disruption.Candidate {
		pool := &api.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "static"}}
		pool.Spec.Template.Spec.NodeClassRef = &api.NodeClassReference{
			Group: api.AWSGroup, Kind: api.EC2NodeClassKind, Name: "c",
		}
		if ready {
			pool.Status.Conditions = []metav1.Condition{{Type: api.ConditionReady, Status: metav1.ConditionTrue}}
		}
		claim := &api.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
		if reservation != "" {
			claim.Labels[api.CapacityTypeLabelKey] = api.CapacityTypeReserved
			claim.Labels[api.LabelCapacityReservationID] = reservation
		}
		return disruption.Candidate{Node: &disruption.Node{Claim: claim}, Pool: pool, Reason: reason}
	}
	candidates := []disruption.Candidate{
		candidate("unready", "cr-1", api.DisruptionReasonDrifted, false),
		candidate("on-demand", "", api.DisruptionReasonDrifted, true),
		candidate("sick", "cr-1", api.DisruptionReasonUnhealthy, true),
	}
	var all []disruption.Notice
	for i := range candidates {
		all = append(all, disruption.Notice{Node: candidates[i].Node})
	}
	name := func(c *disruption.Candidate) string {
		if c == nil {
			return ""
		}
		return c.Node.Claim.Name
	}
	offering := func(reservation string, available bool) catalog.Offering {
		return catalog.Offering{CapacityType: "on-demand", Zone: "a", ReservationID: reservation, Available: available}
	}
	types := func(offerings ...catalog.Offering) map[string][]catalog.InstanceType {
		return map[string][]catalog.InstanceType{"static": {{Name: "m5.large", Offerings: offerings}}}
	}
	drifted, both := disruption.TerminateFirst{api.DisruptionReasonDrifted},
		disruption.TerminateFirst{api.DisruptionReasonDrifted, api.DisruptionReasonUnhealthy}
	for _, test := range []struct {
		what      string
		got, want string
	}{
		{"without the setting", name(disruption.TerminateFirst(nil).Stuck(candidates, all)), ""},
		{"a drifted node of a reservation", name(drifted.Stuck(candidates, all)), "unready"},
		{"one that does not stay", name(both.Stuck(candidates, all[1:])), "sick"},
		{"at the limit of a ready pool", name(drifted.AtLimit(candidates, all)), "on-demand"},
		{"with a full reservation", name(both.Full(candidates, types(offering("cr-1", false)))), "sick"},
		{"with a free reservation", name(both.Full(candidates, types(offering("cr-1", true)))), ""},
		{"with on-demand too", name(both.Full(candidates, types(offering("cr-1", false), offering("", true)))), ""},
		{"without reservations", name(both.Full(candidates, types(offering("", false)))), ""},
	} {
		if test.got != test.want {
			t.Errorf("%s: %q ends first, want %q", test.what, test.got, test.want)
		}
	}
}

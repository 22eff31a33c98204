package ec2

import (
	"github.com/whittle-dev/whittle/infra/local/wire"
)

type describeCapacityReservationsRequest struct {
	IDs        []string `query:"CapacityReservationId"`
	Filters    []filter `query:"Filter"`
	MaxResults *int     `query:"MaxResults"`
	NextToken  string   `query:"NextToken"`
}

type describeCapacityReservationsResult struct {
	Reservations set[string] `xml:"capacityReservationSet"`
}

// describeCapacityReservations finds none: the account has no capacity reservations.
func (s *Service) describeCapacityReservations(_ *wire.Call, in *describeCapacityReservationsRequest) (any, error) {
	if len(in.IDs) > 0 {
		return nil, refuse("InvalidCapacityReservationId.NotFound", "The capacity reservation '%s' does not exist", in.IDs[0])
	}
	none := func(struct{}) []string { return nil }
	_, err := matching(nil, in.Filters, fields[struct{}]{
		"availability-zone": none, "instance-match-criteria": none, "instance-type": none, "owner-id": none, "state": none, "tenancy": none,
	}, func(struct{}) map[string]string { return nil })
	if err != nil {
		return nil, err
	}
	return &describeCapacityReservationsResult{}, nil
}

type describePlacementGroupsRequest struct {
	IDs     []string `query:"GroupId"`
	Names   []string `query:"GroupName"`
	Filters []filter `query:"Filter"`
}

type describePlacementGroupsResult struct {
	Groups set[string] `xml:"placementGroupSet"`
}

// describePlacementGroups finds none: the account has no placement groups.
func (s *Service) describePlacementGroups(_ *wire.Call, in *describePlacementGroupsRequest) (any, error) {
	for _, name := range append(in.IDs, in.Names...) {
		return nil, refuse("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", name)
	}
	none := func(struct{}) []string { return nil }
	_, err := matching(nil, in.Filters, fields[struct{}]{
		"group-arn": none, "group-name": none, "spread-level": none, "state": none, "strategy": none,
	}, func(struct{}) map[string]string { return nil })
	if err != nil {
		return nil, err
	}
	return &describePlacementGroupsResult{}, nil
}

package ec2

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

func (s *Service) describeCapacityReservations(_ *wire.Call, in *describeCapacityReservationsRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(in.IDs) > 0 && in.MaxResults != nil {
		return nil, refuse(codeInvalidParameterCombination,
			"The parameter capacityReservationIds cannot be used with the parameter maxResults")
	}
	type T = *capacityReservation
	var all []T
	for _, id := range slices.Sorted(maps.Keys(s.reservations)) {
		all = append(all, s.reservations[id])
	}
	for _, id := range in.IDs {
		if _, err := s.reservation(id); err != nil {
			return nil, err
		}
	}
	if len(in.IDs) > 0 {
		all = slices.DeleteFunc(all, func(r T) bool { return !slices.Contains(in.IDs, r.ID) })
	}
	all, err := matching(all, in.Filters, fields[T]{
		"availability-zone":       func(r T) []string { return one(r.Zone) },
		"availability-zone-id":    func(r T) []string { return one(r.ZoneID) },
		"end-date":                func(r T) []string { return one(optionalTimestamp(r.End)) },
		"instance-match-criteria": func(r T) []string { return one(r.Match) },
		"instance-type":           func(r T) []string { return one(r.InstanceType) },
		"owner-id":                func(r T) []string { return one(r.OwnerID) },
		"state":                   func(r T) []string { return one(r.State) },
		"tenancy":                 func(r T) []string { return one(r.Tenancy) },
	}, func(r T) map[string]string { return r.Tags })
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(all, in.MaxResults, in.NextToken, pageBounds{Least: 1, Most: 1000})
	if err != nil {
		return nil, err
	}
	out := &describeCapacityReservationsResult{NextToken: next}
	for _, r := range page {
		out.Reservations.Items = append(out.Reservations.Items, s.describeReservation(r))
	}
	return out, nil
}

func endDateType(r *capacityReservation) string {
	if r.End.IsZero() {
		return "unlimited"
	}
	return "limited"
}

func optionalTimestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return timestamp(t)
}

func (s *Service) describeReservation(r *capacityReservation) capacityReservationXML {
	x := capacityReservationXML{
		ID: r.ID, OwnerID: r.OwnerID,
		ARN:              "arn:aws:ec2:" + s.config.Region + ":" + r.OwnerID + ":capacity-reservation/" + r.ID,
		InstanceType:     r.InstanceType,
		InstancePlatform: r.Platform, AvailabilityZone: r.Zone, ZoneID: r.ZoneID, Tenancy: r.Tenancy, Total: r.Total,
		Available: r.available(),
		State:     r.State, StartDate: timestamp(r.Start), EndDate: optionalTimestamp(r.End), EndDateType: endDateType(r),
		Match:      r.Match,
		CreateDate: timestamp(r.created), PlacementGroupARN: r.PlacementGroupARN, ReservationType: r.Type,
		Interruptible: r.Interruptible, Tags: tagSet(r.Tags),
	}
	if r.used > 0 {
		x.Allocations.Items = []allocated{{"used", r.used}}
	}
	if r.Type == CapacityBlock {
		x.CapacityBlockID = strings.Replace(derivedID("cb", r.ID), "cb-0", "cb-", 1)
	}
	return x
}

func (s *Service) createCapacityReservation(c *wire.Call, in *createCapacityReservationRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.once(c, in.ClientToken, func() (any, error) {
		if in.InstancePlatform == "" {
			return nil, missing("InstancePlatform")
		}
		if (in.EndDateType == "limited") == in.EndDate.IsZero() {
			return nil, refuse(codeInvalidParameterCombination,
				"EndDateType %q does not go with the EndDate: limited takes one, unlimited takes none", in.EndDateType)
		}
		tags, err := tagsFor("capacity-reservation", in.TagSpecifications)
		if err != nil {
			return nil, err
		}
		r, err := s.addReservation(CapacityReservation{
			InstanceType: in.InstanceType, Zone: in.AvailabilityZone, ZoneID: in.AvailabilityZoneID,
			Platform: in.InstancePlatform, Tenancy: in.Tenancy,
			Match: in.Match, Total: in.InstanceCount, End: in.EndDate, PlacementGroupARN: in.PlacementGroupARN, Tags: tags,
		})
		if err != nil {
			return nil, err
		}
		return &capacityReservationResult{s.describeReservation(r)}, nil
	})
}

func (s *Service) cancelCapacityReservation(_ *wire.Call, in *cancelCapacityReservationRequest) (any, error) {
	if err := s.CancelCapacityReservation(in.ID); err != nil {
		return nil, err
	}
	return &returned{true}, nil
}

package ec2

import (
	"encoding/base64"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// instanceFilters are those of
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeInstances.html that mean
// something here.
func instanceFilters(vpcID, accountID string) fields[*instance] {
	return fields[*instance]{
		"architecture":         func(i *instance) []string { return one(i.Architecture) },
		"availability-zone":    func(i *instance) []string { return one(i.Zone) },
		"availability-zone-id": func(i *instance) []string { return one(i.ZoneID) },
		"image-id":             func(i *instance) []string { return one(i.ImageID) },
		"instance-id":          func(i *instance) []string { return one(i.ID) },
		"instance-lifecycle": func(i *instance) []string {
			if i.CapacityType != OnDemand {
				return one(i.CapacityType)
			}
			return nil // EC2 has no value for on-demand
		},
		"instance-state-name":     func(i *instance) []string { return one(string(i.State)) },
		"instance-type":           func(i *instance) []string { return one(i.InstanceType) },
		"owner-id":                func(*instance) []string { return one(accountID) },
		"platform":                func(i *instance) []string { return one(i.Image.Platform) },
		"subnet-id":               func(i *instance) []string { return attached(i, i.SubnetID) },
		"tenancy":                 func(i *instance) []string { return one(describePlacement(i).Tenancy) },
		"capacity-reservation-id": func(i *instance) []string { return one(i.CapacityReservationID) },
		"vpc-id":                  func(i *instance) []string { return attached(i, vpcID) },
	}
}

// attached returns a value of an instance's network, which an instance loses when it shuts down.
func attached(i *instance, value string) []string {
	if i.ending() {
		return nil
	}
	return one(value)
}

func instanceTags(i *instance) map[string]string { return i.Tags }

func (s *Service) describeInstances(_ *wire.Call, in *describeInstancesRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(in.InstanceIDs) > 0 && in.MaxResults != nil {
		return nil, refuse(codeInvalidParameterCombination,
			"The parameter instancesSet cannot be used with the parameter maxResults")
	}
	kept, err := s.selectInstances(in.InstanceIDs, in.Filters, instanceFilters(s.vpc.id, s.config.AccountID))
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(kept, in.MaxResults, in.NextToken, manyResults)
	if err != nil {
		return nil, err
	}
	out := &describeInstancesResult{NextToken: next}
	for _, i := range page {
		last := len(out.Reservations.Items) - 1
		if last < 0 || out.Reservations.Items[last].ReservationID != i.reservationID {
			out.Reservations.Items = append(out.Reservations.Items,
				reservationXML{ReservationID: i.reservationID, OwnerID: s.config.AccountID})
			last++
		}
		reservation := &out.Reservations.Items[last]
		reservation.Instances.Items = append(reservation.Instances.Items, s.describeInstance(i))
	}
	return out, nil
}

// selectInstances returns the named instances, or all that the call sees, as it sees them, that
// pass the filters.
func (s *Service) selectInstances(ids []string, filters []filter, known fields[*instance]) ([]*instance, error) {
	var all []*instance
	v := s.view()
	if len(ids) > 0 {
		var err error
		if all, err = s.find(ids, v); err != nil {
			return nil, err
		}
	} else {
		all = s.sorted(func(i *instance) bool { _, known := i.seen(v); return known })
	}
	for n := range all {
		all[n], _ = all[n].seen(v)
	}
	return matching(all, filters, known, instanceTags)
}

func (s *Service) getConsoleOutput(_ *wire.Call, in *getConsoleOutputRequest) (any, error) {
	s.mu.Lock()
	_, err := s.find([]string{in.InstanceID}, s.view())
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	output := base64.StdEncoding.EncodeToString([]byte(s.console(in.InstanceID)))
	return &getConsoleOutputResult{in.InstanceID, timestamp(time.Now()), output}, nil
}

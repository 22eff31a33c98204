package ec2

import (
	"slices"
	"strconv"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

type runInstancesResult struct {
	reservationXML
}

func (s *Service) runInstances(c *wire.Call, in *runInstancesRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.once(c, in.ClientToken, func() (any, error) {
		if in.MinCount < 1 || in.MaxCount < in.MinCount {
			return nil, refuse(codeInvalidParameterValue,
				"MinCount %d and MaxCount %d: both must be at least 1, and MaxCount not below MinCount", in.MinCount, in.MaxCount)
		}
		l, err := s.runLaunch(in)
		if err != nil {
			return nil, err
		}
		var taken []*grant
		for len(taken) < in.MaxCount {
			t, code, message := s.reserve(l)
			if code == "" {
				taken = append(taken, t)
				continue
			}
			if len(taken) >= in.MinCount {
				break
			}
			for _, t := range taken {
				s.release(t)
			}
			return nil, refuse(code, "%s", message)
		}
		out := &runInstancesResult{reservationXML{ReservationID: s.identity.next("r"), OwnerID: s.config.AccountID}}
		for index, t := range taken {
			i := s.start(l, t, out.ReservationID, index)
			out.Instances.Items = append(out.Instances.Items, s.describeInstance(i))
		}
		return out, nil
	})
}

// rehearseRun refuses what would fail the call, whatever the capacity.
func (s *Service) rehearseRun(_ *wire.Call, in *runInstancesRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.runLaunch(in)
	return err
}

// runLaunch resolves the launch that one call asks for; all its instances are equal.
func (s *Service) runLaunch(in *runInstancesRequest) (*launch, error) {
	l := &launch{data: in.launchTemplateData, capacityType: OnDemand, clientToken: in.ClientToken}
	systemTags := map[string]string{}
	if in.LaunchTemplate != nil {
		template, err := s.templateSeenBy(s.view(), in.LaunchTemplate.ID, in.LaunchTemplate.Name)
		if err != nil {
			return nil, err
		}
		version, number, err := template.version(in.LaunchTemplate.Version)
		if err != nil {
			return nil, err
		}
		l.data, l.templateID = version.data.overlaid(in.launchTemplateData), template.id
		systemTags["aws:ec2launchtemplate:id"], systemTags["aws:ec2launchtemplate:version"] = template.id,
			strconv.Itoa(number)
	}
	if err := s.checkData(&l.data); err != nil {
		return nil, err
	}
	if l.data.InstanceType == "" {
		return nil, missing("InstanceType")
	}
	if l.facts = s.typeOf[l.data.InstanceType]; l.facts == nil {
		return nil, refuse(codeInvalidParameterValue, "Invalid instance type: %s", l.data.InstanceType)
	}
	if market := l.data.InstanceMarketOptions; market != nil && market.MarketType != "" {
		l.capacityType = market.MarketType
	}
	subnets, err := s.subnetsFor(&l.data, in.SubnetID, "", "")
	if err != nil {
		return nil, err
	}
	// Without a subnet EC2 takes one whose zone offers the type.
	at := slices.IndexFunc(subnets, func(n *subnet) bool { return slices.Contains(l.facts.Zones, n.zone.Name) })
	if at < 0 {
		return nil, refuse(codeUnsupported,
			"Your requested instance type (%s) is not supported in your requested Availability Zone (%s).", l.facts.Name,
			subnets[0].zone.Name)
	}
	l.subnet = subnets[at]
	if l.instanceTags, err = tagsFor("instance", l.data.TagSpecifications); err != nil {
		return nil, err
	}
	for key, value := range systemTags {
		l.instanceTags[key] = value
	}
	if l.volumeTags, err = tagsFor("volume", l.data.TagSpecifications); err != nil {
		return nil, err
	}
	if err := s.resolve(l); err != nil {
		return nil, err
	}
	return l, nil
}

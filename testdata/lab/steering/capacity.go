package steering

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

func (s *Service) capacity(*http.Request) (any, error) {
	return map[string]any{"starved": append([]ec2.Starvation{}, s.ec2.Starvations()...)}, nil
}

// pools are the patterns of a starvation.
type pools struct {
	InstanceType string    `json:"instanceType"`
	Zone         string    `json:"zone"`
	CapacityType string    `json:"capacityType"`
	SubnetID     string    `json:"subnetId"`
	Code         string    `json:"code"`
	Message      string    `json:"message"`
	For          *duration `json:"for"`
}

func (s *Service) starve(r *http.Request) (any, error) {
	var in pools
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	starvation := ec2.Starvation{
		InstanceType: in.InstanceType, Zone: in.Zone, CapacityType: in.CapacityType, SubnetID: in.SubnetID, Code: in.Code,
		Message: in.Message,
	}
	if in.For != nil {
		starvation.Until = time.Now().Add(in.For.or(0))
	}
	s.ec2.Starve(starvation)
	return s.capacity(r)
}

func (s *Service) feed(r *http.Request) (any, error) {
	var in pools
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	if in.Code != "" || in.For != nil || in.SubnetID != "" || in.Message != "" {
		return nil, errors.New("feeding takes instanceType, zone and capacityType alone")
	}
	if s.ec2.Feed(in.InstanceType, in.Zone, in.CapacityType) == 0 && in != (pools{}) {
		return nil, fmt.Errorf("nothing is starved with exactly these patterns: GET %scapacity lists what is", Prefix)
	}
	return s.capacity(r)
}

func (s *Service) chaos(r *http.Request) (any, error) {
	var in struct {
		Share  float64   `json:"share"`
		Seed   uint64    `json:"seed"`
		Period *duration `json:"period"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	if in.Share < 0 || in.Share > 1 {
		return nil, fmt.Errorf("share %g: want 0 to 1", in.Share)
	}
	s.ec2.SetChaos(ec2.Chaos{Share: in.Share, Seed: in.Seed, Period: in.Period.or(0)})
	return done(nil)
}

func (s *Service) passChaos(r *http.Request) (any, error) {
	var in struct {
		Time *duration `json:"time"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	s.ec2.PassChaos(in.Time.or(time.Minute))
	return done(nil)
}

func (s *Service) refusals(*http.Request) (any, error) {
	return map[string]any{"refusals": s.ec2.Refusals()}, nil
}

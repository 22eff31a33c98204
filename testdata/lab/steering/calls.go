package steering

import (
	"fmt"
	"net/http"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

func (s *Service) failCalls(r *http.Request) (any, error) {
	var in struct {
		Action  string    `json:"action"`
		Code    string    `json:"code"`
		Message string    `json:"message"`
		Times   int       `json:"times"`
		Done    bool      `json:"done"`
		For     *duration `json:"for"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	if in.Action == "" || in.Times < 0 {
		return nil, fmt.Errorf("action %q and times %d: want an EC2 action, such as CreateFleet or *, and at least 0",
			in.Action, in.Times)
	}
	failure := ec2.CallFailure{Action: in.Action, Code: in.Code, Message: in.Message, Times: in.Times, Done: in.Done}
	if in.For != nil {
		failure.Until = time.Now().Add(in.For.or(0))
	}
	s.ec2.FailCalls(failure)
	return done(nil)
}

func (s *Service) rates(*http.Request) (any, error) {
	return map[string]any{"rates": s.ec2.Rates()}, nil
}

func (s *Service) setRates(r *http.Request) (any, error) {
	var in struct {
		Rates []ec2.Rate `json:"rates"`
		EC2   bool       `json:"ec2"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	if in.EC2 {
		in.Rates = append(in.Rates, ec2.EC2Rates()...)
	}
	for _, rate := range in.Rates {
		if rate.Action == "" || rate.PerSecond < 0 || rate.Burst < 1 {
			return nil, fmt.Errorf(
				"rate %+v: want an EC2 action, such as CreateFleet or *, a perSecond of at least 0 and a burst of at least 1", rate)
		}
	}
	s.ec2.SetRates(in.Rates...)
	return s.rates(r)
}

func (s *Service) calls(*http.Request) (any, error) {
	return map[string]any{"calls": s.server.Calls()}, nil
}

func (s *Service) resetCalls(*http.Request) (any, error) {
	s.server.ResetCalls()
	return done(nil)
}

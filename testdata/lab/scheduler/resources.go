package scheduler

import (
	"context"
	"errors"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
)

// RegisterTypes registers schedules with CloudFormation.
func (s *Service) RegisterTypes(stacks *cloudformation.Service) {
	stacks.RegisterType("AWS::Scheduler::Schedule", scheduleType{s})
}

type scheduleType struct{ service *Service }

func (t scheduleType) put(r cloudformation.Request, name string, exists bool) (cloudformation.Result, error) {
	d, period, err := read(r.Properties, name)
	if err != nil {
		return cloudformation.Result{}, err
	}
	if err := t.service.put(d, period, exists); err != nil {
		return cloudformation.Result{}, err
	}
	return cloudformation.Result{PhysicalID: d.Name, Attributes: map[string]any{"Arn": t.service.arn(d.Name)}}, nil
}

func (t scheduleType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	return t.put(r, cloudformation.GeneratedName(r, 64), false)
}

func (t scheduleType) Update(ctx context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	if r.Properties["Name"] != r.OldProperties["Name"] {
		return t.Create(ctx, r)
	}
	return t.put(r, r.PhysicalID, true)
}

func (t scheduleType) Delete(_ context.Context, r cloudformation.Request) error {
	if err := t.service.remove(r.PhysicalID); err != nil && !errors.Is(err, errNotFound) {
		return err
	}
	return nil
}

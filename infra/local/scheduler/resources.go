package scheduler

import (
	"context"
	"errors"

	"github.com/whittle-dev/whittle/infra/local/cloudformation"
)

// RegisterTypes registers schedules and their groups with CloudFormation.
func (s *Service) RegisterTypes(stacks *cloudformation.Service) {
	stacks.RegisterType("AWS::Scheduler::Schedule", scheduleType{s})
	stacks.RegisterType("AWS::Scheduler::ScheduleGroup", groupType{s})
}

type scheduleType struct{ service *Service }

func (t scheduleType) put(r cloudformation.Request, name string, exists bool) (cloudformation.Result, error) {
	var d Definition
	if err := cloudformation.Decode(r.Properties, &d); err != nil {
		return cloudformation.Result{}, err
	}
	if d.Name == "" {
		d.Name = name
	}
	sc, err := t.service.put(d, exists)
	if err != nil {
		return cloudformation.Result{}, err
	}
	return cloudformation.Result{PhysicalID: sc.Name, Attributes: map[string]any{"Arn": t.service.arn(sc)}}, nil
}

func (t scheduleType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	return t.put(r, cloudformation.GeneratedName(r, 64), false)
}

func (t scheduleType) Update(ctx context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	if r.Properties["Name"] != r.OldProperties["Name"] {
		return t.Create(ctx, r)
	}
	if r.Properties["GroupName"] != r.OldProperties["GroupName"] {
		// The ID does not name the group, so the old schedule is deleted now instead of in the
		// cleanup.
		if err := t.Delete(ctx, cloudformation.Request{PhysicalID: r.PhysicalID, Properties: r.OldProperties}); err != nil {
			return cloudformation.Result{}, err
		}
		return t.put(r, r.PhysicalID, false)
	}
	return t.put(r, r.PhysicalID, true)
}

func (t scheduleType) Delete(_ context.Context, r cloudformation.Request) error {
	group, _ := r.Properties["GroupName"].(string)
	if err := t.service.remove(group, r.PhysicalID); err != nil && !errors.Is(err, errNotFound) {
		return err
	}
	return nil
}

type groupType struct{ service *Service }

type groupProperties struct {
	Name string
	Tags []struct{ Key, Value string }
}

func (t groupType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	var p groupProperties
	if err := cloudformation.Decode(r.Properties, &p); err != nil {
		return cloudformation.Result{}, err
	}
	if p.Name == "" {
		p.Name = cloudformation.GeneratedName(r, 64)
	}
	if err := t.service.addGroup(p.Name); err != nil {
		return cloudformation.Result{}, err
	}
	return cloudformation.Result{
		PhysicalID: p.Name, Attributes: map[string]any{"Arn": t.service.groupARN(p.Name), "State": "ACTIVE"},
	}, nil
}

func (t groupType) Update(ctx context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	if r.Properties["Name"] != r.OldProperties["Name"] {
		return t.Create(ctx, r)
	}
	return cloudformation.Result{
		PhysicalID: r.PhysicalID, Attributes: map[string]any{"Arn": t.service.groupARN(r.PhysicalID), "State": "ACTIVE"},
	}, nil
}

func (t groupType) Delete(_ context.Context, r cloudformation.Request) error {
	if err := t.service.removeGroup(r.PhysicalID); err != nil && !errors.Is(err, errNotFound) {
		return err
	}
	return nil
}

package eventbridge

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
)

// RegisterTypes registers rules with CloudFormation.
func (s *Service) RegisterTypes(stacks *cloudformation.Service) {
	stacks.RegisterType("AWS::Events::Rule", ruleType{s})
}

type ruleType struct{ service *Service }

type ruleProperties struct {
	Name         string
	Description  string
	EventBusName string
	EventPattern map[string]any
	State        string
	Targets      []map[string]any
	Tags         []struct{ Key, Value string } // nothing asks for them
}

func (t ruleType) put(r cloudformation.Request, name string, isNew bool) (cloudformation.Result, error) {
	var p ruleProperties
	if err := cloudformation.Decode(r.Properties, &p); err != nil {
		return cloudformation.Result{}, err
	}
	if p.Name != "" {
		name = p.Name
	}
	definition := ruleDefinition{Name: name, State: p.State, EventBusName: p.EventBusName}
	if p.EventPattern != nil {
		text, err := json.Marshal(p.EventPattern)
		if err != nil {
			return cloudformation.Result{}, fmt.Errorf("EventPattern: %w", err)
		}
		definition.EventPattern = string(text)
	}
	targets, err := readTargets(name, p.Targets)
	if err != nil {
		return cloudformation.Result{}, err
	}
	if isNew {
		t.service.mu.Lock()
		_, err := t.service.find(name)
		t.service.mu.Unlock()
		if err == nil {
			return cloudformation.Result{}, fmt.Errorf("rule %s exists already; choose another Name or delete it", name)
		}
	}
	if err := t.service.putRule(definition, &targets); err != nil {
		return cloudformation.Result{}, err
	}
	return cloudformation.Result{PhysicalID: name, Attributes: map[string]any{"Arn": t.service.arn(name)}}, nil
}

func (t ruleType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	return t.put(r, cloudformation.GeneratedName(r, 64), true)
}

func (t ruleType) Update(ctx context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	if r.Properties["Name"] != r.OldProperties["Name"] {
		return t.Create(ctx, r)
	}
	return t.put(r, r.PhysicalID, false)
}

func (t ruleType) Delete(_ context.Context, r cloudformation.Request) error {
	t.service.removeRule(r.PhysicalID)
	return nil
}

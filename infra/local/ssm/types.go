package ssm

import (
	"context"
	"fmt"

	"github.com/whittle-dev/whittle/infra/local/cloudformation"
)

// RegisterTypes makes the service hold the AWS::SSM::Parameter resources of CloudFormation stacks.
func (s *Service) RegisterTypes(cfn *cloudformation.Service) {
	cfn.RegisterType("AWS::SSM::Parameter", parameterType{s})
}

type parameterType struct{ service *Service }

type parameterProperties struct {
	Name        string
	Type        string
	Value       string
	Description string
	DataType    string
	Tier        string
	Tags        map[string]string
}

func (t parameterType) put(r cloudformation.Request, name string, mustBeNew bool) (cloudformation.Result, error) {
	var p parameterProperties
	if err := cloudformation.Decode(r.Properties, &p); err != nil {
		return cloudformation.Result{}, err
	}
	if err := check(name, p.Value, p.Type); err != nil {
		return cloudformation.Result{}, err
	}
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	if _, exists := t.service.parameters[name]; exists && mustBeNew {
		return cloudformation.Result{}, fmt.Errorf("parameter %s already exists", name)
	}
	t.service.set(name, p.Value, p.Type, p.Description)
	return cloudformation.Result{PhysicalID: name, Attributes: map[string]any{"Type": p.Type, "Value": p.Value}}, nil
}

// nameOf returns the name in the properties; empty if it must be generated.
func nameOf(properties map[string]any) string {
	name, _ := properties["Name"].(string)
	return name
}

// Create puts the parameter, which must be new.
func (t parameterType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	name := nameOf(r.Properties)
	if name == "" {
		name = "CFN-" + r.GeneratedName
	}
	return t.put(r, name, true)
}

// Update puts a new version; another name is another parameter.
func (t parameterType) Update(ctx context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	if nameOf(r.Properties) != nameOf(r.OldProperties) {
		return t.Create(ctx, r)
	}
	return t.put(r, r.PhysicalID, false)
}

// Delete removes the parameter.
func (t parameterType) Delete(_ context.Context, r cloudformation.Request) error {
	t.service.remove(r.PhysicalID)
	return nil
}

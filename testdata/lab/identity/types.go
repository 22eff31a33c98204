package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
)

// RegisterTypes makes the service hold the IAM resources of CloudFormation stacks.
func (s *Service) RegisterTypes(cfn *cloudformation.Service) {
	cfn.RegisterType("AWS::IAM::Role", roleType{s})
	cfn.RegisterType("AWS::IAM::InstanceProfile", profileType{s})
}

// maxRoleName is IAM's limit; generated names are shortened to it.
const maxRoleName = 64

type tagProperty struct{ Key, Value string }

func tagMap(stack map[string]string, own []tagProperty) map[string]string {
	tags := map[string]string{}
	for key, value := range stack {
		tags[key] = value
	}
	for _, t := range own {
		tags[t.Key] = t.Value
	}
	return tags
}

// documentProperty reads a policy that a template gives as an object.
func documentProperty(what string, value any, trust bool) (*document, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("property %s: %w", what, err)
	}
	d, err := parseDocument(string(text), trust)
	if err != nil {
		return nil, fmt.Errorf("property %s: %w", what, err)
	}
	return d, nil
}

type roleType struct{ service *Service }

type roleProperties struct {
	AssumeRolePolicyDocument map[string]any
	Description              string
	ManagedPolicyArns        []string
	MaxSessionDuration       int
	Path                     string
	PermissionsBoundary      string
	Policies                 []struct {
		PolicyName     string
		PolicyDocument map[string]any
	}
	RoleName string
	Tags     []tagProperty
}

// build makes the role that properties describe, without entering it.
func (t roleType) build(r cloudformation.Request) (*role, error) {
	var p roleProperties
	if err := cloudformation.Decode(r.Properties, &p); err != nil {
		return nil, err
	}
	name := p.RoleName
	if name == "" {
		name = cloudformation.GeneratedName(r, maxRoleName)
	}
	trust, err := json.Marshal(p.AssumeRolePolicyDocument)
	if err != nil {
		return nil, fmt.Errorf("property AssumeRolePolicyDocument: %w", err)
	}
	built, err := t.service.newRole(name, p.Path, string(trust))
	if err != nil {
		return nil, err
	}
	built.description, built.tags = p.Description, tagMap(r.Tags, p.Tags)
	if p.MaxSessionDuration != 0 {
		built.maxSession = time.Duration(p.MaxSessionDuration) * time.Second
	}
	for _, policy := range p.Policies {
		d, err := documentProperty("Policies."+policy.PolicyName, policy.PolicyDocument, false)
		if err != nil {
			return nil, err
		}
		built.inline[policy.PolicyName] = d
	}
	t.service.mu.Lock()
	defer t.service.commit()
	for _, arn := range p.ManagedPolicyArns {
		if err := t.service.attach(built, arn); err != nil {
			return nil, err
		}
	}
	if p.PermissionsBoundary != "" && t.service.managedPolicy(p.PermissionsBoundary) == nil {
		return nil, noSuchEntity("Scope ARN: %s does not exist or is not attachable.", p.PermissionsBoundary)
	}
	built.boundary = p.PermissionsBoundary
	return built, nil
}

func (r *role) result() cloudformation.Result {
	return cloudformation.Result{PhysicalID: r.name, Attributes: map[string]any{"Arn": r.arn, "RoleId": r.id}}
}

// Create makes the role.
func (t roleType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	built, err := t.build(r)
	if err != nil {
		return cloudformation.Result{}, err
	}
	if err := t.service.enter(built); err != nil {
		return cloudformation.Result{}, err
	}
	return built.result(), nil
}

// Update changes the role in place; another name or path is another role.
func (t roleType) Update(ctx context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	var p, old roleProperties
	if err := cloudformation.Decode(r.Properties, &p); err != nil {
		return cloudformation.Result{}, err
	}
	if err := cloudformation.Decode(r.OldProperties, &old); err != nil {
		return cloudformation.Result{}, err
	}
	if p.RoleName != old.RoleName || p.Path != old.Path {
		return t.Create(ctx, r)
	}
	r.GeneratedName = r.PhysicalID
	built, err := t.build(r)
	if err != nil {
		return cloudformation.Result{}, err
	}
	t.service.mu.Lock()
	defer t.service.commit()
	existing, err := t.service.role(r.PhysicalID)
	if err != nil {
		return cloudformation.Result{}, err
	}
	// Policies from AWS::IAM::Policy resources or from the API stay in the role.
	for _, policy := range old.Policies {
		delete(existing.inline, policy.PolicyName)
	}
	for name, d := range built.inline {
		existing.inline[name] = d
	}
	for _, arn := range old.ManagedPolicyArns {
		existing.attached = slices.DeleteFunc(existing.attached, func(a string) bool { return a == arn })
	}
	existing.attached = append(existing.attached, built.attached...)
	existing.trust, existing.description, existing.maxSession, existing.tags = built.trust, built.description,
		built.maxSession, built.tags
	existing.boundary = built.boundary
	return existing.result(), nil
}

// Delete removes the role with the policies of its own properties.
func (t roleType) Delete(_ context.Context, r cloudformation.Request) error {
	t.service.mu.Lock()
	defer t.service.commit()
	existing, ok := t.service.roles[r.PhysicalID]
	if !ok {
		return nil
	}
	var p roleProperties
	if err := cloudformation.Decode(r.Properties, &p); err != nil {
		return err
	}
	for _, policy := range p.Policies {
		delete(existing.inline, policy.PolicyName)
	}
	for _, arn := range p.ManagedPolicyArns {
		existing.attached = slices.DeleteFunc(existing.attached, func(a string) bool { return a == arn })
	}
	return t.service.removeRole(existing)
}

package identity

import (
	"context"
	"fmt"
	"slices"

	"github.com/whittle-dev/whittle/infra/local/cloudformation"
)

// policyType is AWS::IAM::Policy: an inline policy in one or more roles.
type policyType struct{ service *Service }

type policyProperties struct {
	PolicyName     string
	PolicyDocument map[string]any
	Roles          []string
}

func (t policyType) decode(properties map[string]any) (policyProperties, *document, error) {
	var p policyProperties
	if err := cloudformation.Decode(properties, &p); err != nil {
		return p, nil, err
	}
	if len(p.Roles) == 0 {
		return p, nil, fmt.Errorf("property Roles is empty: the local AWS attaches policies to roles only")
	}
	if err := checkName("property PolicyName", p.PolicyName, "/"); err != nil {
		return p, nil, err
	}
	d, err := documentProperty("PolicyDocument", p.PolicyDocument, false)
	return p, d, err
}

// put enters the policy into its roles; the lock is held.
func (t policyType) put(p policyProperties, d *document) error {
	for _, name := range p.Roles {
		r, err := t.service.role(name)
		if err != nil {
			return err
		}
		r.inline[p.PolicyName] = d
	}
	return nil
}

// remove takes the policy out of its roles; the lock is held.
func (t policyType) remove(p policyProperties) {
	for _, name := range p.Roles {
		if r, ok := t.service.roles[name]; ok {
			delete(r.inline, p.PolicyName)
		}
	}
}

// Create puts the policy into its roles.
func (t policyType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	p, d, err := t.decode(r.Properties)
	if err != nil {
		return cloudformation.Result{}, err
	}
	t.service.mu.Lock()
	defer t.service.commit()
	return cloudformation.Result{PhysicalID: r.PhysicalID}, t.put(p, d)
}

// Update replaces the old policy by the new one, at its old place.
func (t policyType) Update(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	p, d, err := t.decode(r.Properties)
	if err != nil {
		return cloudformation.Result{}, err
	}
	old, _, err := t.decode(r.OldProperties)
	if err != nil {
		return cloudformation.Result{}, err
	}
	t.service.mu.Lock()
	defer t.service.commit()
	t.remove(old)
	return cloudformation.Result{PhysicalID: r.PhysicalID}, t.put(p, d)
}

// Delete takes the policy out of its roles.
func (t policyType) Delete(_ context.Context, r cloudformation.Request) error {
	p, _, err := t.decode(r.Properties)
	if err != nil {
		return err
	}
	t.service.mu.Lock()
	defer t.service.commit()
	t.remove(p)
	return nil
}

// managedPolicyType is AWS::IAM::ManagedPolicy: a policy with an ARN, attached to roles.
type managedPolicyType struct{ service *Service }

type managedPolicyProperties struct {
	Description       string
	ManagedPolicyName string
	Path              string
	PolicyDocument    map[string]any
	Roles             []string
}

func (t managedPolicyType) build(r cloudformation.Request) (managedPolicyProperties, *managedPolicy, error) {
	var p managedPolicyProperties
	if err := cloudformation.Decode(r.Properties, &p); err != nil {
		return p, nil, err
	}
	name, path := p.ManagedPolicyName, p.Path
	if name == "" {
		name = cloudformation.GeneratedName(r, maxPolicyName)
	}
	if path == "" {
		path = "/"
	}
	if !pathPattern.MatchString(path) {
		return p, nil, invalid("property Path %q must begin and end with /", path)
	}
	d, err := documentProperty("PolicyDocument", p.PolicyDocument, false)
	if err != nil {
		return p, nil, err
	}
	return p, &managedPolicy{
		name: name, path: path, description: p.Description,
		arn: fmt.Sprintf("arn:aws:iam::%s:policy%s%s", t.service.accountID, path, name), document: d,
	}, nil
}

func (m *managedPolicy) result() cloudformation.Result {
	return cloudformation.Result{PhysicalID: m.arn, Attributes: map[string]any{"PolicyArn": m.arn}}
}

// enter adds the policy and attaches it to exactly the given roles; the lock is held.
func (t managedPolicyType) enter(m *managedPolicy, roles []string) error {
	for _, name := range roles {
		if _, err := t.service.role(name); err != nil {
			return err
		}
	}
	t.service.managed[m.arn] = m
	for name, r := range t.service.roles {
		r.attached = slices.DeleteFunc(r.attached, func(a string) bool { return a == m.arn && !slices.Contains(roles, name) })
	}
	for _, name := range roles {
		if err := t.service.attach(t.service.roles[name], m.arn); err != nil {
			return err
		}
	}
	return nil
}

// Create makes the policy and attaches it.
func (t managedPolicyType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	p, built, err := t.build(r)
	if err != nil {
		return cloudformation.Result{}, err
	}
	t.service.mu.Lock()
	defer t.service.commit()
	if t.service.managed[built.arn] != nil {
		return cloudformation.Result{}, alreadyExists("A policy called %s already exists.", built.name)
	}
	if err := t.enter(built, p.Roles); err != nil {
		return cloudformation.Result{}, err
	}
	return built.result(), nil
}

// Update changes the policy in place; another name, path or description is another policy.
func (t managedPolicyType) Update(ctx context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	var old managedPolicyProperties
	if err := cloudformation.Decode(r.OldProperties, &old); err != nil {
		return cloudformation.Result{}, err
	}
	p, built, err := t.build(r)
	if err != nil {
		return cloudformation.Result{}, err
	}
	if p.ManagedPolicyName != old.ManagedPolicyName || p.Path != old.Path || p.Description != old.Description {
		return t.Create(ctx, r)
	}
	t.service.mu.Lock()
	defer t.service.commit()
	existing := t.service.managed[r.PhysicalID]
	if existing == nil {
		return cloudformation.Result{}, noSuchEntity("Policy %s was not found.", r.PhysicalID)
	}
	built.arn, built.name = existing.arn, existing.name
	if err := t.enter(built, p.Roles); err != nil {
		return cloudformation.Result{}, err
	}
	return built.result(), nil
}

// Delete detaches the policy everywhere and removes it.
func (t managedPolicyType) Delete(_ context.Context, r cloudformation.Request) error {
	t.service.mu.Lock()
	defer t.service.commit()
	for _, role := range t.service.roles {
		role.attached = slices.DeleteFunc(role.attached, func(a string) bool { return a == r.PhysicalID })
	}
	delete(t.service.managed, r.PhysicalID)
	return nil
}

// profileType is AWS::IAM::InstanceProfile.
type profileType struct{ service *Service }

type profileProperties struct {
	InstanceProfileName string
	Path                string
	Roles               []string
}

func (t profileType) decode(properties map[string]any) (profileProperties, error) {
	var p profileProperties
	if err := cloudformation.Decode(properties, &p); err != nil {
		return p, err
	}
	if len(p.Roles) != 1 {
		return p, fmt.Errorf("property Roles has %d roles; an instance profile has exactly one", len(p.Roles))
	}
	return p, nil
}

func (p *instanceProfile) result() cloudformation.Result {
	return cloudformation.Result{PhysicalID: p.name, Attributes: map[string]any{"Arn": p.arn}}
}

// Create makes the profile with its role.
func (t profileType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	p, err := t.decode(r.Properties)
	if err != nil {
		return cloudformation.Result{}, err
	}
	name := p.InstanceProfileName
	if name == "" {
		name = cloudformation.GeneratedName(r, maxRoleName)
	}
	built, err := t.service.newProfile(name, p.Path)
	if err != nil {
		return cloudformation.Result{}, err
	}
	built.tags = tagMap(r.Tags, nil)
	t.service.mu.Lock()
	defer t.service.commit()
	if err := t.service.fill(built, p.Roles[0]); err != nil {
		return cloudformation.Result{}, err
	}
	if err := t.service.enterProfile(built); err != nil {
		return cloudformation.Result{}, err
	}
	return built.result(), nil
}

// Update changes the role in place; another name or path is another profile.
func (t profileType) Update(ctx context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	p, err := t.decode(r.Properties)
	if err != nil {
		return cloudformation.Result{}, err
	}
	old, err := t.decode(r.OldProperties)
	if err != nil {
		return cloudformation.Result{}, err
	}
	if p.InstanceProfileName != old.InstanceProfileName || p.Path != old.Path {
		return t.Create(ctx, r)
	}
	t.service.mu.Lock()
	defer t.service.commit()
	existing, ok := t.service.profiles[r.PhysicalID]
	if !ok {
		return cloudformation.Result{}, noSuchEntity("Instance Profile %s cannot be found.", r.PhysicalID)
	}
	before := existing.role
	existing.role = ""
	if err := t.service.fill(existing, p.Roles[0]); err != nil {
		existing.role = before
		return cloudformation.Result{}, err
	}
	return existing.result(), nil
}

// Delete removes the profile.
func (t profileType) Delete(_ context.Context, r cloudformation.Request) error {
	t.service.mu.Lock()
	defer t.service.commit()
	delete(t.service.profiles, r.PhysicalID)
	return nil
}

package identity

import (
	"context"
	"fmt"

	"github.com/whittle-dev/whittle/testdata/lab/cloudformation"
)

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

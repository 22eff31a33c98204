package ec2

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/whittle-dev/whittle/infra/local/cloudformation"
)

// RegisterTypes holds the service's CloudFormation types.
func (s *Service) RegisterTypes(cfn *cloudformation.Service) {
	for name, t := range s.ResourceTypes() {
		cfn.RegisterType(name, t)
	}
}

// ResourceTypes are the CloudFormation types by name.
func (s *Service) ResourceTypes() map[string]cloudformation.ResourceType {
	return map[string]cloudformation.ResourceType{
		"AWS::EC2::SecurityGroup": &securityGroupType{s}, "AWS::EC2::SecurityGroupIngress": &ingressType{s},
		"AWS::EC2::LaunchTemplate": &launchTemplateType{s},
	}
}

// securityGroupType is AWS::EC2::SecurityGroup. Rules are stored and never enforced, because there
// is no network here.
type securityGroupType struct{ service *Service }

type securityGroupProperties struct {
	GroupDescription     string
	GroupName            string
	VpcID                string `json:"VpcId"`
	SecurityGroupIngress []map[string]any
	SecurityGroupEgress  []map[string]any
	Tags                 []tagXML
}

func (t *securityGroupType) decode(r cloudformation.Request) (*securityGroupProperties, error) {
	p := &securityGroupProperties{}
	if err := cloudformation.Decode(r.Properties, p); err != nil {
		return nil, err
	}
	if p.GroupDescription == "" {
		return nil, missing("GroupDescription")
	}
	if p.VpcID != "" && p.VpcID != t.service.vpc.id {
		return nil, refuse("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", p.VpcID)
	}
	return p, nil
}

func (t *securityGroupType) result(g *securityGroup) cloudformation.Result {
	return cloudformation.Result{
		PhysicalID: g.id, Attributes: map[string]any{"GroupId": g.id, "Id": g.id, "VpcId": t.service.vpc.id},
	}
}

// Create makes the group.
func (t *securityGroupType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	p, err := t.decode(r)
	if err != nil {
		return cloudformation.Result{}, err
	}
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	return t.create(p, r)
}

func (t *securityGroupType) create(p *securityGroupProperties, r cloudformation.Request) (cloudformation.Result,
	error) {
	name := p.GroupName
	if name == "" {
		name = r.GeneratedName
	}
	if t.service.vpc.group(name) != nil {
		return cloudformation.Result{},
			refuse("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'", name, t.service.vpc.id)
	}
	g := &securityGroup{
		id: t.service.identity.next("sg"), name: name, description: p.GroupDescription, tags: resourceTags(p.Tags, r),
	}
	t.service.vpc.groups = append(t.service.vpc.groups, g)
	return t.result(g), nil
}

// Update changes tags and rules in place; another name, description or VPC is another group.
func (t *securityGroupType) Update(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	p, err := t.decode(r)
	if err != nil {
		return cloudformation.Result{}, err
	}
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	g := t.service.vpc.group(r.PhysicalID)
	if g == nil || g.description != p.GroupDescription || p.GroupName != "" && g.name != p.GroupName {
		return t.create(p, r)
	}
	g.tags = resourceTags(p.Tags, r)
	return t.result(g), nil
}

// Delete removes the group.
func (t *securityGroupType) Delete(_ context.Context, r cloudformation.Request) error {
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	for _, i := range t.service.instances {
		if i.State != Terminated && slices.Contains(i.securityGroups, r.PhysicalID) {
			return refuse("DependencyViolation", "resource %s has a dependent object: instance %s", r.PhysicalID, i.ID)
		}
	}
	t.service.vpc.groups = slices.DeleteFunc(t.service.vpc.groups, func(g *securityGroup) bool {
		return g.id == r.PhysicalID
	})
	return nil
}

// launchTemplateType is AWS::EC2::LaunchTemplate.
type launchTemplateType struct{ service *Service }

type launchTemplateProperties struct {
	LaunchTemplateName string
	VersionDescription string
	LaunchTemplateData launchTemplateData
	TagSpecifications  []tagSpecification
}

func describeTemplateResource(t *launchTemplate) cloudformation.Result {
	return cloudformation.Result{PhysicalID: t.id, Attributes: map[string]any{
		"LaunchTemplateId": t.id, "DefaultVersionNumber": "1", "LatestVersionNumber": strconv.Itoa(len(t.versions)),
	}}
}

// Create makes the template with its first version.
func (t *launchTemplateType) Create(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	p := &launchTemplateProperties{}
	if err := cloudformation.Decode(r.Properties, p); err != nil {
		return cloudformation.Result{}, err
	}
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	return t.create(p, r)
}

func (t *launchTemplateType) create(p *launchTemplateProperties, r cloudformation.Request) (cloudformation.Result,
	error) {
	name := p.LaunchTemplateName
	if name == "" {
		name = r.GeneratedName
	}
	tags, err := tagsFor("launch-template", p.TagSpecifications)
	if err != nil {
		return cloudformation.Result{}, err
	}
	maps.Copy(tags, r.Tags)
	template, err := t.service.addTemplate(name, p.VersionDescription, "cloudformation", p.LaunchTemplateData, tags)
	if err != nil {
		return cloudformation.Result{}, err
	}
	return describeTemplateResource(template), nil
}

// Update adds a version; another name is another template.
func (t *launchTemplateType) Update(_ context.Context, r cloudformation.Request) (cloudformation.Result, error) {
	p := &launchTemplateProperties{}
	if err := cloudformation.Decode(r.Properties, p); err != nil {
		return cloudformation.Result{}, err
	}
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	template := t.service.templates[r.PhysicalID]
	if template == nil || p.LaunchTemplateName != "" && p.LaunchTemplateName != template.name {
		return t.create(p, r)
	}
	if err := t.service.addVersion(template, p.VersionDescription, "cloudformation", p.LaunchTemplateData); err != nil {
		return cloudformation.Result{}, err
	}
	return describeTemplateResource(template), nil
}

// Delete removes the template.
func (t *launchTemplateType) Delete(_ context.Context, r cloudformation.Request) error {
	t.service.mu.Lock()
	defer t.service.mu.Unlock()
	delete(t.service.templates, r.PhysicalID)
	return nil
}

// resourceTags are a resource's own tags over those of its stack.
func resourceTags(own []tagXML, r cloudformation.Request) map[string]string {
	tags := map[string]string{}
	maps.Copy(tags, r.Tags)
	for _, tag := range own {
		tags[tag.Key] = tag.Value
	}
	return tags
}

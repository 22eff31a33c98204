package ec2

import (
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/lag"
	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

type launchTemplate struct {
	id, name, createdBy string
	created             time.Time
	versions            []launchTemplateVersion // version n at n-1
	tags                map[string]string
	shown               lag.Value[bool] // known to a replica once it has a value
}

type launchTemplateVersion struct {
	description, createdBy string
	created                time.Time
	data                   launchTemplateData
}

func describeTemplate(t *launchTemplate) launchTemplateXML {
	return launchTemplateXML{t.id, t.name, timestamp(t.created), t.createdBy, 1, len(t.versions), tagSet(t.tags)}
}

// The limits are EC2's:
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateLaunchTemplate.html and 16 KB of
// user data before base64.
const maxUserDataBytes = 16384

func templateNamePattern() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9().\-/_]{3,128}$`) }

func (s *Service) createLaunchTemplate(c *wire.Call, in *createLaunchTemplateRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.once(c, in.ClientToken, func() (any, error) {
		if in.Data == nil {
			return nil, missing("LaunchTemplateData")
		}
		tags, err := tagsFor("launch-template", in.TagSpecifications)
		if err != nil {
			return nil, err
		}
		t, err := s.addTemplate(in.Name, in.VersionDescription, c.Caller.ARN, *in.Data, tags)
		if err != nil {
			return nil, err
		}
		return &launchTemplateResult{describeTemplate(t)}, nil
	})
}

// addTemplate is called with the lock held.
func (s *Service) addTemplate(name, description, createdBy string, data launchTemplateData,
	tags map[string]string) (*launchTemplate, error) {
	if err := s.checkTemplate(name, &data); err != nil {
		return nil, err
	}
	now := time.Now()
	t := &launchTemplate{
		id: s.identity.next("lt"), name: name, createdBy: createdBy, created: now, tags: tags,
		versions: []launchTemplateVersion{{description, createdBy, now, data}},
	}
	s.replicateTemplate(t)
	s.templates[t.id] = t
	return t, nil
}

// checkTemplate refuses a new template that cannot be made.
func (s *Service) checkTemplate(name string, data *launchTemplateData) error {
	switch {
	case name == "":
		return missing("LaunchTemplateName")
	case !templateNamePattern().MatchString(name):
		return refuse("InvalidLaunchTemplateName.MalformedException",
			"The launch template name %q is not 3 to 128 letters, digits and ( ) . - / _", name)
	case s.templateByName(name) != nil:
		return refuse("InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use: %s", name)
	}
	return s.checkData(data)
}

func (s *Service) rehearseLaunchTemplate(_ *wire.Call, in *createLaunchTemplateRequest) error {
	if in.Data == nil {
		return missing("LaunchTemplateData")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.checkTemplate(in.Name, in.Data)
}

// addVersion is called with the lock held.
func (s *Service) addVersion(t *launchTemplate, description, createdBy string, data launchTemplateData) error {
	if err := s.checkData(&data); err != nil {
		return err
	}
	t.versions = append(t.versions, launchTemplateVersion{description, createdBy, time.Now(), data})
	return nil
}

// checkData refuses what EC2 refuses when a template is created. Only a launch checks that the
// image and the groups exist.
func (s *Service) checkData(data *launchTemplateData) error {
	if data.UserData != "" {
		raw, err := base64.StdEncoding.DecodeString(data.UserData)
		if err != nil {
			return refuse("InvalidUserData.Malformed", "Invalid BASE64 encoding of user data: %v", err)
		}
		if len(raw) > maxUserDataBytes {
			return refuse("InvalidUserData.Malformed", "User data is limited to %d bytes", maxUserDataBytes)
		}
	}
	if data.InstanceType != "" && s.typeOf[data.InstanceType] == nil {
		return refuse(codeInvalidParameterValue, "Invalid instance type: %s", data.InstanceType)
	}
	if len(data.NetworkInterfaces) > 0 && len(data.SecurityGroupIDs)+len(data.SecurityGroups) > 0 {
		return refuse(codeInvalidParameterCombination,
			"Network interfaces and an instance-level security groups may not be specified on the same request")
	}
	return nil
}

func (s *Service) templateByName(name string) *launchTemplate {
	for _, t := range s.templates {
		if t.name == name {
			return t
		}
	}
	return nil
}

// template finds a template by its id or its name.
func (s *Service) template(id, name string) (*launchTemplate, error) {
	switch {
	case id != "" && name != "":
		return nil, refuse(codeInvalidParameterCombination, "Specify either the launch template's ID or its name, not both")
	case id != "":
		if t := s.templates[id]; t != nil {
			return t, nil
		}
		return nil, noTemplate(id, name)
	case name != "":
		if t := s.templateByName(name); t != nil {
			return t, nil
		}
		return nil, noTemplate(id, name)
	default:
		return nil, missing("LaunchTemplateId or LaunchTemplateName")
	}
}

// noTemplate is EC2's answer about a template that it does not know, or not yet.
func noTemplate(id, name string) error {
	if id != "" {
		return refuse("InvalidLaunchTemplateId.NotFound",
			"The specified launch template, with template ID %s, does not exist.", id)
	}
	return refuse("InvalidLaunchTemplateName.NotFoundException",
		"The specified launch template, with template name %s, does not exist.", name)
}

// version returns a version by number, $Latest or $Default (version 1); the number comes back with
// it.
func (t *launchTemplate) version(text string) (launchTemplateVersion, int, error) {
	n := 1
	switch text {
	case "", "$Default":
	case "$Latest":
		n = len(t.versions)
	default:
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > len(t.versions) {
			return launchTemplateVersion{}, 0, refuse("InvalidLaunchTemplateId.VersionNotFound",
				"Could not find launch template version %s for the launch template %s", text, t.id)
		}
	}
	return t.versions[n-1], n, nil
}

func (s *Service) createLaunchTemplateVersion(c *wire.Call, in *createLaunchTemplateVersionRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.once(c, in.ClientToken, func() (any, error) {
		t, err := s.template(in.ID, in.Name)
		if err != nil {
			return nil, err
		}
		if in.Data == nil {
			return nil, missing("LaunchTemplateData")
		}
		data := *in.Data
		if in.SourceVersion != "" {
			source, _, err := t.version(in.SourceVersion)
			if err != nil {
				return nil, err
			}
			data = source.data.overlaid(data)
		}
		if err := s.addVersion(t, in.VersionDescription, c.Caller.ARN, data); err != nil {
			return nil, err
		}
		return &createLaunchTemplateVersionResult{describeTemplateVersion(t, len(t.versions))}, nil
	})
}

func (s *Service) describeLaunchTemplates(_ *wire.Call, in *describeLaunchTemplatesRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.view()
	for _, id := range in.IDs {
		if _, err := s.templateSeenBy(v, id, ""); err != nil {
			return nil, err
		}
	}
	for _, name := range in.Names {
		if _, err := s.templateSeenBy(v, "", name); err != nil {
			return nil, err
		}
	}
	all := slices.SortedFunc(maps.Values(s.templates), func(a, b *launchTemplate) int {
		return strings.Compare(a.name, b.name)
	})
	all = slices.DeleteFunc(all, func(t *launchTemplate) bool { return !t.knownTo(v) })
	if len(in.IDs)+len(in.Names) > 0 {
		all = slices.DeleteFunc(all, func(t *launchTemplate) bool {
			return !slices.Contains(in.IDs, t.id) && !slices.Contains(in.Names, t.name)
		})
	}
	all, err := matching(all, in.Filters, fields[*launchTemplate]{},
		func(t *launchTemplate) map[string]string { return t.tags })
	if err != nil {
		return nil, err
	}
	page, next, err := paginate(all, in.MaxResults, in.NextToken, pageBounds{Least: 1, Most: 200, Default: 200})
	if err != nil {
		return nil, err
	}
	out := &describeLaunchTemplatesResult{NextToken: next}
	for _, t := range page {
		out.LaunchTemplates.Items = append(out.LaunchTemplates.Items, describeTemplate(t))
	}
	return out, nil
}

func describeTemplateVersion(t *launchTemplate, number int) launchTemplateVersionXML {
	v := t.versions[number-1]
	return launchTemplateVersionXML{
		t.id, t.name, number, v.description, timestamp(v.created), v.createdBy, number == 1, v.data,
	}
}

func (s *Service) describeLaunchTemplateVersions(_ *wire.Call, in *describeLaunchTemplateVersionsRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []launchTemplateVersionXML
	if in.ID == "" && in.Name == "" {
		// Without a template EC2 accepts only these two versions, and answers for every template.
		if len(in.Versions) == 0 {
			return nil, missing("LaunchTemplateId or LaunchTemplateName, or the versions $Latest or $Default")
		}
		for _, t := range slices.SortedFunc(maps.Values(s.templates), func(a, b *launchTemplate) int {
			return strings.Compare(a.name, b.name)
		}) {
			for _, text := range in.Versions {
				if text != "$Latest" && text != "$Default" {
					return nil, invalidValue(text, "LaunchTemplateVersion",
						"Without a launch template only $Latest and $Default can be named.")
				}
				if _, n, err := t.version(text); err == nil {
					all = append(all, describeTemplateVersion(t, n))
				}
			}
		}
	} else {
		t, err := s.template(in.ID, in.Name)
		if err != nil {
			return nil, err
		}
		for _, text := range in.Versions {
			_, n, err := t.version(text)
			if err != nil {
				return nil, err
			}
			all = append(all, describeTemplateVersion(t, n))
		}
		if len(in.Versions) == 0 {
			for n := len(t.versions); n >= 1; n-- {
				all = append(all, describeTemplateVersion(t, n))
			}
		}
	}
	page, next, err := paginate(all, in.MaxResults, in.NextToken, pageBounds{Least: 1, Most: 200, Default: 200})
	if err != nil {
		return nil, err
	}
	return &describeLaunchTemplateVersionsResult{setOf(page), next}, nil
}

func (s *Service) deleteLaunchTemplate(_ *wire.Call, in *deleteLaunchTemplateRequest) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.template(in.ID, in.Name)
	if err != nil {
		return nil, err
	}
	delete(s.templates, t.id)
	return &launchTemplateResult{describeTemplate(t)}, nil
}

package identity

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/whittle-dev/whittle/testdata/lab/wire"
)

// ec2Request has the parameters that determine the permissions of EC2's calls.
type ec2Request struct {
	TagSpecification []struct {
		ResourceType string
		Tag          []tagXML
	}
	Tag                   []tagXML
	ResourceID            []string `query:"ResourceId"`
	InstanceID            []string `query:"InstanceId"`
	LaunchTemplateID      string   `query:"LaunchTemplateId"`
	LaunchTemplateName    string
	LaunchTemplate        templateName
	LaunchTemplateConfigs []struct {
		LaunchTemplateSpecification templateName
		Overrides                   []struct {
			SubnetID string `query:"SubnetId"`
			ImageID  string `query:"ImageId"`
		}
	}
	SubnetID           string   `query:"SubnetId"`
	ImageID            string   `query:"ImageId"`
	SecurityGroupID    []string `query:"SecurityGroupId"`
	SpotOptions        *struct{}
	TargetCapacitySpec struct{ DefaultTargetCapacityType string } `query:"TargetCapacitySpecification"`
}

type templateName struct {
	LaunchTemplateID   string `query:"LaunchTemplateId"`
	LaunchTemplateName string
}

// name is the part of the ARN: the ID if given. A template that is named by its name is looked up.
func (t templateName) name() string {
	if t.LaunchTemplateID != "" {
		return t.LaunchTemplateID
	}
	return t.LaunchTemplateName
}

// ec2Permissions follows the service's own table:
// https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html.
func (s *Service) ec2Permissions(c *wire.Call) []permission {
	action := "ec2:" + c.Action
	if strings.HasPrefix(c.Action, "Describe") {
		return []permission{{action: action, resource: "*"}}
	}
	var in ec2Request
	if err := c.DecodeQuery(&in); err != nil {
		// The service itself reports the parameters' errors.
		return []permission{{action: action, resource: anyResource}}
	}
	e := ec2Asker{service: s, call: c, request: in}
	switch c.Action {
	case "CreateFleet":
		e.created(action, "fleet")
		e.launch(action)
		e.launch("ec2:RunInstances")
		e.tagging("CreateFleet")
	case "RunInstances":
		e.launch(action)
		e.tagging("RunInstances")
	case "CreateLaunchTemplate":
		e.created(action, "launch-template")
		e.tagging("CreateLaunchTemplate")
	case "CreateTags", "DeleteTags":
		for _, id := range in.ResourceID {
			arn := e.arn(resourceKind(id), id)
			e.add(permission{action: action, resource: arn, tagged: arn, context: tagContext(in.Tag)})
		}
	case "TerminateInstances", "StopInstances", "StartInstances", "RebootInstances":
		for _, id := range in.InstanceID {
			e.existing(action, "instance", id)
		}
	case "DeleteLaunchTemplate", "CreateLaunchTemplateVersion", "ModifyLaunchTemplate":
		e.existing(action, "launch-template", templateName{in.LaunchTemplateID, in.LaunchTemplateName}.name())
	}
	if len(e.found) == 0 {
		return []permission{{action: action, resource: anyResource}}
	}
	return e.found
}

// ec2Asker collects the permissions of one call.
type ec2Asker struct {
	service *Service
	call    *wire.Call
	request ec2Request
	found   []permission
}

func (e *ec2Asker) add(p permission) { e.found = append(e.found, p) }

// arn names a resource; images and snapshots belong to no account in ARNs.
func (e *ec2Asker) arn(kind, id string) string {
	account := e.service.accountID
	if kind == "image" || kind == "snapshot" {
		account = ""
	}
	return fmt.Sprintf("arn:aws:ec2:%s:%s:%s/%s", e.call.Region, account, kind, id)
}

// existing asks for an action on a resource that is there.
func (e *ec2Asker) existing(action, kind, id string) {
	arn := e.arn(kind, id)
	e.add(permission{action: action, resource: arn, tagged: arn})
}

// created asks for an action on a resource that the call makes, with the tags that the call gives
// it.
func (e *ec2Asker) created(action, kind string) {
	e.add(permission{action: action, resource: e.arn(kind, "*"), context: tagContext(e.tagsFor(kind))})
}

// tagsFor returns the tags of the call's specification for a kind of resource.
func (e *ec2Asker) tagsFor(kind string) []tagXML {
	var tags []tagXML
	for _, specification := range e.request.TagSpecification {
		if specification.ResourceType == kind {
			tags = append(tags, specification.Tag...)
		}
	}
	return tags
}

// launch asks for everything that a launch of instances uses and makes.
func (e *ec2Asker) launch(action string) {
	templates := map[string]bool{}
	if name := e.request.LaunchTemplate.name(); name != "" {
		templates[name] = true
	}
	subnets, images, groups := []string{e.request.SubnetID}, []string{e.request.ImageID}, e.request.SecurityGroupID
	for _, configuration := range e.request.LaunchTemplateConfigs {
		if name := configuration.LaunchTemplateSpecification.name(); name != "" {
			templates[name] = true
		}
		for _, override := range configuration.Overrides {
			subnets, images = append(subnets, override.SubnetID), append(images, override.ImageID)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		e.existing(action, "launch-template", name)
	}
	for kind, ids := range map[string][]string{"subnet": subnets, "image": images, "security-group": groups} {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" })
		slices.Sort(ids)
		if len(ids) == 0 {
			ids = []string{"*"} // the launch template names it
		}
		for _, id := range slices.Compact(ids) {
			p := permission{action: action, resource: e.arn(kind, id)}
			if id != "*" {
				p.tagged = p.resource
			}
			e.add(p)
		}
	}
	e.created(action, "instance")
	for _, kind := range []string{"volume", "network-interface"} {
		// A launch template can bring tags for these that the call does not show: asked for only if
		// the call tags them itself.
		if len(templates) == 0 || len(e.tagsFor(kind)) > 0 {
			e.created(action, kind)
		}
	}
	if e.request.TargetCapacitySpec.DefaultTargetCapacityType == "spot" && len(e.tagsFor("spot-instances-request")) > 0 {
		e.created(action, "spot-instances-request")
	}
}

// tagging adds the permission to tag the created resources.
func (e *ec2Asker) tagging(createAction string) {
	for _, specification := range e.request.TagSpecification {
		context := tagContext(specification.Tag)
		context["ec2:CreateAction"] = []string{createAction}
		e.add(permission{action: "ec2:CreateTags", resource: e.arn(specification.ResourceType, "*"), context: context})
	}
}

// tagContext returns the condition keys of the tags in a request.
func tagContext(tags []tagXML) map[string][]string {
	context := map[string][]string{}
	for _, t := range tags {
		context["aws:RequestTag/"+t.Key] = []string{t.Value}
		context["aws:TagKeys"] = append(context["aws:TagKeys"], t.Key)
	}
	return context
}

// resourceKind derives the kind of a resource from its ID's prefix.
func resourceKind(id string) string {
	prefix, _, _ := strings.Cut(id, "-")
	switch prefix {
	case "i":
		return "instance"
	case "vol":
		return "volume"
	case "eni":
		return "network-interface"
	case "lt":
		return "launch-template"
	case "ami":
		return "image"
	case "sg":
		return "security-group"
	case "snap":
		return "snapshot"
	case "cr":
		return "capacity-reservation"
	case "sir":
		return "spot-instances-request"
	default:
		return prefix // subnet, fleet, vpc are their own
	}
}

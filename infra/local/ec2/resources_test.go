package ec2_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/infra/local/cloudformation"
)

func TestSecurityGroupInATemplate(t *testing.T) {
	a := newAccount(t)
	resource := a.service.ResourceTypes()["AWS::EC2::SecurityGroup"]
	request := cloudformation.Request{GeneratedName: "stack-group-1", Properties: map[string]any{
		"GroupDescription": "nodes", "Tags": []any{map[string]any{"Key": "karpenter.sh/discovery", "Value": "other"}},
	}}
	made, err := resource.Create(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	found, err := a.DescribeSecurityGroups(t.Context(),
		&awsec2.DescribeSecurityGroupsInput{
			Filters: []types.Filter{{Name: aws.String("tag:karpenter.sh/discovery"), Values: []string{"other"}}},
		})
	if err != nil || len(found.SecurityGroups) != 1 || text(found.SecurityGroups[0].GroupId) != made.PhysicalID {
		t.Errorf("found %+v, %v; want %s", found, err, made.PhysicalID)
	}
	request.PhysicalID = made.PhysicalID
	request.Properties["GroupDescription"] = "others"
	if _, err := resource.Update(t.Context(), request); err == nil ||
		!strings.Contains(err.Error(), "InvalidGroup.Duplicate") {
		t.Errorf("a replacement of the same generated name gave %v", err)
	}
	request.GeneratedName = "stack-group-2"
	replaced, err := resource.Update(t.Context(), request)
	if err != nil || replaced.PhysicalID == made.PhysicalID {
		t.Errorf("another description gave %+v, %v; want another group", replaced, err)
	}
	for range 2 { // gone already is success
		if err := resource.Delete(t.Context(), request); err != nil {
			t.Error(err)
		}
	}
	request.Properties["Colour"] = "red"
	if _, err := resource.Create(t.Context(), request); err == nil || !strings.Contains(err.Error(), "Colour") {
		t.Errorf("an unknown property gave %v", err)
	}
}

func TestLaunchTemplateInATemplate(t *testing.T) {
	a := newAccount(t)
	resource := a.service.ResourceTypes()["AWS::EC2::LaunchTemplate"]
	request := cloudformation.Request{GeneratedName: "stack-template-1",
		Properties: map[string]any{"LaunchTemplateData": map[string]any{
			"ImageId": a.image("x86_64"),
			"BlockDeviceMappings": []any{
				map[string]any{"DeviceName": "/dev/xvda", "Ebs": map[string]any{"VolumeSize": "40", "Encrypted": "true"}},
			},
		}}}
	made, err := resource.Create(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	request.PhysicalID = made.PhysicalID
	changed, err := resource.Update(t.Context(), request)
	if err != nil || changed.PhysicalID != made.PhysicalID || changed.Attributes["LatestVersionNumber"] != "2" {
		t.Errorf("updating gave %+v, %v", changed, err)
	}
	versions, err := a.DescribeLaunchTemplateVersions(t.Context(),
		&awsec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &made.PhysicalID})
	if err != nil || len(versions.LaunchTemplateVersions) != 2 ||
		aws.ToInt32(versions.LaunchTemplateVersions[0].LaunchTemplateData.BlockDeviceMappings[0].Ebs.VolumeSize) != 40 {
		t.Errorf("versions: %+v, %v", versions, err)
	}
	for range 2 {
		if err := resource.Delete(t.Context(), request); err != nil {
			t.Error(err)
		}
	}
}

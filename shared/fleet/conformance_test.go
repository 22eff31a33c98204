//go:build conformance

package fleet_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	awsssm "github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/testdata/lab/conformance"
)

// TestTheClientsWorkWithMoto drives this package from discovery to an instance's end against an
// EC2, an SSM and an IAM that others wrote.
func TestTheClientsWorkWithMoto(t *testing.T) {
	_, moto := conformance.StartMoto(t)
	config := moto.Config()
	a := &account{ec2: awsec2.NewFromConfig(config), ssm: awsssm.NewFromConfig(config), iam: awsiam.NewFromConfig(config)}
	class := a.prepareMoto(t)
	discoverer := fleet.Discoverer{
		EC2: a.ec2, SSM: a.ssm, Profiles: fleet.Profiles{IAM: a.iam, Cluster: "prod", Region: conformance.Region},
		Kubernetes: kubernetes, Now: time.Now(),
	}
	facts, err := discoverer.Discover(t.Context(), class)
	if err != nil {
		t.Fatal(err)
	}
	if len(facts.Subnets) != 2 || facts.Subnets[0].FreeAddresses == 0 || facts.Subnets[0].ZoneID == "" ||
		len(facts.SecurityGroups) != 1 || len(facts.Images) != 1 || facts.InstanceProfile == "" {
		t.Fatalf("moto gave %+v", facts)
	}
	if again, err := discoverer.Discover(t.Context(), class); err != nil ||
		again.InstanceProfile != facts.InstanceProfile {
		t.Errorf("found again: %+v, %v", again, err)
	}
	client := fleet.New(a.ec2, "prod")
	tags := map[string]string{
		api.ClusterTagKey("prod"): api.ClusterTagOwned, api.EKSClusterNameTagKey: "prod",
		api.NodePoolLabelKey: "general", api.LabelNodeClass: "default",
	}
	template := launch.Template{Content: nodeclass.LaunchTemplate{
		Name: "karpenter.k8s.aws/0123", ImageID: facts.Images[0].ID, InstanceProfile: facts.InstanceProfile,
		SecurityGroups: []string{facts.SecurityGroups[0].ID},
		UserData:       "#!/bin/sh\n", Tags: tags, MetadataOptions: &api.MetadataOptions{HTTPTokens: aws.String("required")},
	}}
	for _, subnet := range facts.Subnets {
		template.Overrides = append(
			template.Overrides,
			launch.Override{InstanceType: "m5.large", Zone: subnet.Zone, SubnetID: subnet.ID, Price: 0.1},
		)
	}
	own := map[string]string{api.NodeClaimTagKey: "claim-1"}
	for key, value := range tags {
		own[key] = value
	}
	for _, capacityType := range []string{api.CapacityTypeOnDemand, api.CapacityTypeSpot} {
		launched := mustLaunch(t, client, launch.Request{
			Name: "claim-1", Count: 1, ClientToken: "claim-1-" + capacityType, CapacityType: capacityType,
			Templates: []launch.Template{template}, Tags: own,
		})
		if !strings.HasPrefix(launched.ID, "i-") || launched.InstanceType != "m5.large" || launched.Zone == "" {
			t.Errorf("%s: launched %+v", capacityType, launched)
		}
		listed, err := client.Instances(t.Context())
		if err != nil || !slices.ContainsFunc(listed, func(i fleet.Instance) bool {
			return i.ID == launched.ID && i.InstanceType == "m5.large" && i.CapacityType == capacityType
		}) {
			t.Errorf("%s: %+v are listed, %v", capacityType, listed, err)
		}
		if err := client.Terminate(t.Context(), launched.ID); err != nil {
			t.Errorf("%s: %v", capacityType, err)
		}
	}
	if err := client.Terminate(t.Context(), "i-0123456789abcdef0"); err != nil {
		t.Errorf("an instance that is gone is a success: %v", err)
	}
	if left, err := client.Instances(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("%+v are left, %v", left, err)
	}
}

// prepareMoto tags what a class selects, and makes the node role..
func (a *account) prepareMoto(t *testing.T) *api.EC2NodeClass {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	subnets, err := a.ec2.DescribeSubnets(t.Context(), &awsec2.DescribeSubnetsInput{})
	must(err)
	groups, err := a.ec2.DescribeSecurityGroups(t.Context(), &awsec2.DescribeSecurityGroupsInput{})
	must(err)
	_, err = a.ec2.CreateTags(t.Context(), &awsec2.CreateTagsInput{
		Resources: []string{
			aws.ToString(subnets.Subnets[0].SubnetId), aws.ToString(subnets.Subnets[1].SubnetId),
			aws.ToString(groups.SecurityGroups[0].GroupId),
		},
		Tags: []types.Tag{{Key: aws.String("karpenter.sh/discovery"), Value: aws.String("prod")}},
	})
	must(err)
	a.role(t, "nodes")
	images, err := a.ec2.DescribeImages(
		t.Context(),
		&awsec2.DescribeImagesInput{
			Owners:  []string{"amazon"},
			Filters: []types.Filter{{Name: aws.String("architecture"), Values: []string{"x86_64"}}},
		},
	)
	must(err)
	selected := map[string]string{"karpenter.sh/discovery": "prod"}
	class := &api.EC2NodeClass{Spec: api.EC2NodeClassSpec{
		Role: "nodes", SubnetSelectorTerms: []api.SubnetSelectorTerm{{Tags: selected}},
		SecurityGroupSelectorTerms: []api.SecurityGroupSelectorTerm{{Tags: selected}},
		AMISelectorTerms:           []api.AMISelectorTerm{{ID: aws.ToString(images.Images[0].ImageId)}},
	}}
	class.Name = "default"
	return class
}

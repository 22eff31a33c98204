package fleet_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/infra/local/ec2"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// request asks for a spot m5.large or m6i.large in two zones for the claim.
func (a *account) request(t *testing.T, claim string) launch.Request {
	t.Helper()
	if _, err := a.iam.GetInstanceProfile(t.Context(), &awsiam.GetInstanceProfileInput{InstanceProfileName: aws.String("nodes")}); fleet.IsGone(err) {
		a.role(t, "nodes")
		if _, err := a.iam.CreateInstanceProfile(t.Context(), &awsiam.CreateInstanceProfileInput{InstanceProfileName: aws.String("nodes")}); err != nil {
			t.Fatal(err)
		}
		_, err := a.iam.AddRoleToInstanceProfile(t.Context(), &awsiam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String("nodes"), RoleName: aws.String("nodes")})
		if err != nil {
			t.Fatal(err)
		}
	}
	tags := map[string]string{
		api.ClusterTagKey("prod"): api.ClusterTagOwned, api.EKSClusterNameTagKey: "prod", api.NodePoolLabelKey: "general", api.LabelNodeClass: "default",
	}
	content := nodeclass.LaunchTemplate{
		Name: "karpenter.k8s.aws/0123", ImageID: a.image(t, "x86_64"), InstanceProfile: "nodes", SecurityGroups: []string{a.group(t)},
		UserData: "#!/bin/sh\n", Tags: tags,
		MetadataOptions: &api.MetadataOptions{HTTPTokens: aws.String("required"), HTTPPutResponseHopLimit: aws.Int64(1), HTTPEndpoint: aws.String("enabled")},
		BlockDevices:    []*api.BlockDeviceMapping{},
	}
	template := launch.Template{Content: content}
	subnets := a.subnets(t)
	for _, instanceType := range []string{"m5.large", "m6i.large"} {
		for _, zone := range []string{"us-east-1a", "us-east-1b"} {
			template.Overrides = append(template.Overrides, launch.Override{InstanceType: instanceType, Zone: zone, SubnetID: subnets[zone], Price: 0.1})
		}
	}
	own := map[string]string{api.NodeClaimTagKey: claim}
	for key, value := range tags {
		own[key] = value
	}
	return launch.Request{Claim: claim, ClientToken: claim + "-1", CapacityType: api.CapacityTypeSpot, Templates: []launch.Template{template}, Tags: own}
}

func mustLaunch(t *testing.T, client *fleet.Client, request launch.Request) *fleet.Instance {
	t.Helper()
	outcome, err := client.Launch(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Instance == nil {
		t.Fatalf("no instance, short of %v", outcome.Short)
	}
	return outcome.Instance
}

func TestLaunchGivesTheInstanceThatEC2Chose(t *testing.T) {
	a := newAccount(t)
	client := fleet.New(a.ec2, "prod")
	request := a.request(t, "claim-1")
	launched := mustLaunch(t, client, request)
	listed, err := client.Instances(t.Context())
	if err != nil || len(listed) != 1 {
		t.Fatalf("%d instances, %v", len(listed), err)
	}
	seen := listed[0]
	if launched.ID != seen.ID || launched.InstanceType != seen.InstanceType || launched.Zone != seen.Zone || launched.ImageID != seen.ImageID ||
		launched.CapacityType != api.CapacityTypeSpot || seen.CapacityType != api.CapacityTypeSpot {
		t.Errorf("launch says %+v, EC2 lists %+v", launched, seen)
	}
	if seen.Tags[api.NodeClaimTagKey] != "claim-1" || seen.Tags[api.EKSClusterNameTagKey] != "prod" {
		t.Errorf("tags are %v", seen.Tags)
	}
	if want := "aws:///" + seen.Zone + "/" + seen.ID; launched.ProviderID() != want {
		t.Errorf("provider id is %s, want %s", launched.ProviderID(), want)
	}
	if others, err := fleet.New(a.ec2, "staging").Instances(t.Context()); err != nil || len(others) != 0 {
		t.Errorf("another cluster sees %v, %v", others, err)
	}
	request = a.request(t, "claim-2")
	request.CapacityType = api.CapacityTypeOnDemand
	if second := mustLaunch(t, client, request); second.CapacityType != api.CapacityTypeOnDemand {
		t.Errorf("asked for on-demand, got %+v", second)
	}
	if own, err := client.InstancesOfClaim(t.Context(), "claim-1"); err != nil || len(own) != 1 || own[0].ID != launched.ID {
		t.Errorf("claim-1 has %v, %v", own, err)
	}
}

func TestPrioritizedLaunchGoesByThePricesGiven(t *testing.T) {
	a := newAccount(t)
	client := fleet.New(a.ec2, "prod")
	for _, capacityType := range []string{api.CapacityTypeOnDemand, api.CapacityTypeSpot} {
		request := a.request(t, "claim-"+capacityType)
		request.CapacityType, request.Prioritized = capacityType, true
		request.Templates[0].Overrides[3].Price = 0.01
		wanted := request.Templates[0].Overrides[3]
		if got := mustLaunch(t, client, request); got.InstanceType != wanted.InstanceType || got.Zone != wanted.Zone {
			t.Errorf("%s: got %s in %s, want the one with the lowest price given, %s in %s", capacityType, got.InstanceType, got.Zone, wanted.InstanceType, wanted.Zone)
		}
	}
}

func TestLaunchedTwiceWithOneTokenIsOneInstance(t *testing.T) {
	a := newAccount(t)
	request := a.request(t, "claim-1")
	first := mustLaunch(t, fleet.New(a.ec2, "prod"), request)
	// Another container, which has never seen the launch template, as after a crash.
	if again := mustLaunch(t, fleet.New(a.ec2, "prod"), request); again.ID != first.ID || again.Zone != first.Zone || again.InstanceType != first.InstanceType {
		t.Errorf("first %+v, again %+v", first, again)
	}
	if alive := a.alive(); len(alive) != 1 {
		t.Errorf("%d instances run", len(alive))
	}
}

func TestLaunchedTwiceAtOnceIsOneInstance(t *testing.T) {
	a := newAccount(t)
	client, request := fleet.New(a.ec2, "prod"), a.request(t, "claim-1")
	var group sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		group.Go(func() {
			outcome, err := client.Launch(t.Context(), request)
			if err != nil || outcome.Instance == nil {
				t.Errorf("%+v, %v", outcome, err)
				return
			}
			ids[i] = outcome.Instance.ID
		})
	}
	group.Wait()
	if slices.Sort(ids); ids[0] != ids[len(ids)-1] || len(a.alive()) != 1 {
		t.Errorf("launches gave %v, %d instances run", ids, len(a.alive()))
	}
}

func TestAnEarlierLaunchWithOtherParametersIsFound(t *testing.T) {
	a := newAccount(t)
	client, request := fleet.New(a.ec2, "prod"), a.request(t, "claim-1")
	first := mustLaunch(t, client, request)
	// Prices have changed since: the same token, other overrides.
	changed := a.request(t, "claim-1")
	changed.Templates[0].Overrides = changed.Templates[0].Overrides[:1]
	found := mustLaunch(t, client, changed)
	if found.ID != first.ID || found.Zone != first.Zone || found.InstanceType != first.InstanceType || found.ImageID != first.ImageID {
		t.Errorf("first %+v, found %+v", first, found)
	}
	if alive := a.alive(); len(alive) != 1 {
		t.Errorf("%d instances run", len(alive))
	}
}

func TestAnEarlierLaunchThatEC2DoesNotShowYetIsTriedAgain(t *testing.T) {
	a := newAccount(t)
	a.service.SetVisibility(time.Hour)
	client, request := fleet.New(a.ec2, "prod"), a.request(t, "claim-1")
	mustLaunch(t, client, request)
	changed := a.request(t, "claim-1")
	changed.Templates[0].Overrides = changed.Templates[0].Overrides[:1]
	outcome, err := client.Launch(t.Context(), changed)
	if err == nil || outcome.Instance != nil || !strings.Contains(err.Error(), "try again") {
		t.Errorf("%+v, %v", outcome, err)
	}
	if alive := a.alive(); len(alive) != 1 {
		t.Errorf("%d instances run", len(alive))
	}
}

func TestShortagesNameTheOfferings(t *testing.T) {
	for _, code := range []string{"", "MaxSpotInstanceCountExceeded", "UnfulfillableCapacity"} {
		t.Run(code, func(t *testing.T) {
			a := newAccount(t)
			client, request := fleet.New(a.ec2, "prod"), a.request(t, "claim-1")
			a.service.Starve(ec2.Starvation{CapacityType: ec2.Spot, Code: code})
			outcome, err := client.Launch(t.Context(), request)
			if err != nil || outcome.Instance != nil {
				t.Fatalf("%+v, %v", outcome, err)
			}
			for _, override := range request.Templates[0].Overrides {
				if !slices.ContainsFunc(outcome.Short, func(short launch.Override) bool {
					return short.InstanceType == override.InstanceType && short.Zone == override.Zone
				}) {
					t.Errorf("%s in %s is not among the short: %+v", override.InstanceType, override.Zone, outcome.Short)
				}
			}
			if len(a.alive()) != 0 {
				t.Error("an instance runs")
			}
		})
	}
}

func TestOneOfferingWithRoomIsEnough(t *testing.T) {
	a := newAccount(t)
	client, request := fleet.New(a.ec2, "prod"), a.request(t, "claim-1")
	a.service.Starve(ec2.Starvation{InstanceType: "m5.large"})
	a.service.Starve(ec2.Starvation{Zone: "us-east-1a"})
	if launched := mustLaunch(t, client, request); launched.InstanceType != "m6i.large" || launched.Zone != "us-east-1b" {
		t.Errorf("launched %+v", launched)
	}
}

func TestWhatIsNoShortageIsAnError(t *testing.T) {
	a := newAccount(t)
	client, request := fleet.New(a.ec2, "prod"), a.request(t, "claim-1")
	a.service.Starve(ec2.Starvation{Code: "InvalidParameterValue"})
	outcome, err := client.Launch(t.Context(), request)
	if err == nil || len(outcome.Short) > 0 || !strings.Contains(err.Error(), `nodeclaim "claim-1"`) || !strings.Contains(err.Error(), "InvalidParameterValue") {
		t.Errorf("%+v, %v", outcome, err)
	}
	a.service.Throttle("CreateFleet", 1, 0)
	if _, err := client.Launch(t.Context(), a.request(t, "claim-2")); err == nil || !strings.Contains(err.Error(), "RequestLimitExceeded") {
		t.Errorf("throttled: %v", err)
	}
}

func TestALaunchTemplateIsMadeOnceAndFoundAgain(t *testing.T) {
	a := newAccount(t)
	client := fleet.New(a.ec2, "prod")
	mustLaunch(t, client, a.request(t, "claim-1"))
	mustLaunch(t, client, a.request(t, "claim-2"))
	if got := a.count("CreateLaunchTemplate"); got != 1 {
		t.Errorf("a warm container asked %d times for the template", got)
	}
	mustLaunch(t, fleet.New(a.ec2, "prod"), a.request(t, "claim-3")) // it exists, which is as good
	described, err := a.ec2.DescribeLaunchTemplates(t.Context(), &awsec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"karpenter.k8s.aws/0123"}})
	if err != nil || len(described.LaunchTemplates) != 1 {
		t.Fatalf("%v, %v", described, err)
	}
	if tags := described.LaunchTemplates[0].Tags; !slices.ContainsFunc(tags, func(tag types.Tag) bool { return *tag.Key == api.NodePoolLabelKey && *tag.Value == "general" }) {
		t.Errorf("the template's tags are %v", tags)
	}
	// Someone deletes it behind the container's back: one try fails, the next mends it.
	if _, err := a.ec2.DeleteLaunchTemplate(t.Context(), &awsec2.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String("karpenter.k8s.aws/0123")}); err != nil {
		t.Fatal(err)
	}
	request := a.request(t, "claim-4")
	if outcome, err := client.Launch(t.Context(), request); err == nil {
		t.Fatalf("launched from a template that is gone: %+v", outcome)
	}
	mustLaunch(t, client, request)
}

func TestALaunchTemplateHasAllThatTheClassSays(t *testing.T) {
	a := newAccount(t)
	request := a.request(t, "claim-1")
	content := &request.Templates[0].Content
	size := resource.MustParse("19.5Gi") // EC2 counts whole GiB
	content.DetailedMonitoring = true
	content.NetworkInterfaces = []nodeclass.NetworkInterface{{Type: "interface", PublicAddress: aws.Bool(false)}}
	content.BlockDevices = []*api.BlockDeviceMapping{{DeviceName: aws.String("/dev/xvda"), EBS: &api.BlockDevice{
		VolumeSize: &size, VolumeType: aws.String("gp3"), Encrypted: aws.Bool(true), IOPS: aws.Int64(4000), Throughput: aws.Int64(200), DeleteOnTermination: aws.Bool(true),
	}}}
	mustLaunch(t, fleet.New(a.ec2, "prod"), request)
	versions, err := a.ec2.DescribeLaunchTemplateVersions(t.Context(), &awsec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: &content.Name})
	if err != nil || len(versions.LaunchTemplateVersions) != 1 {
		t.Fatalf("%v, %v", versions, err)
	}
	data := versions.LaunchTemplateVersions[0].LaunchTemplateData
	if aws.ToString(data.ImageId) != content.ImageID || aws.ToString(data.UserData) != "IyEvYmluL3NoCg==" || aws.ToString(data.IamInstanceProfile.Name) != "nodes" {
		t.Errorf("data is %+v", data)
	}
	if data.Monitoring == nil || !aws.ToBool(data.Monitoring.Enabled) || data.MetadataOptions == nil || data.MetadataOptions.HttpTokens != "required" || *data.MetadataOptions.HttpPutResponseHopLimit != 1 {
		t.Errorf("monitoring %+v, metadata options %+v", data.Monitoring, data.MetadataOptions)
	}
	if len(data.SecurityGroupIds) != 0 || len(data.NetworkInterfaces) != 1 || aws.ToBool(data.NetworkInterfaces[0].AssociatePublicIpAddress) || !slices.Equal(data.NetworkInterfaces[0].Groups, content.SecurityGroups) {
		t.Errorf("groups %v, interfaces %+v", data.SecurityGroupIds, data.NetworkInterfaces)
	}
	if len(data.BlockDeviceMappings) != 1 {
		t.Fatalf("block devices are %+v", data.BlockDeviceMappings)
	}
	disk := data.BlockDeviceMappings[0].Ebs
	if aws.ToInt32(disk.VolumeSize) != 20 || disk.VolumeType != "gp3" || !aws.ToBool(disk.Encrypted) || aws.ToInt32(disk.Iops) != 4000 || aws.ToInt32(disk.Throughput) != 200 {
		t.Errorf("the disk is %+v", disk)
	}
}

func TestTerminateAndTagTakeAnInstanceThatIsGoneForASuccess(t *testing.T) {
	a := newAccount(t)
	client := fleet.New(a.ec2, "prod")
	launched := mustLaunch(t, client, a.request(t, "claim-1"))
	if err := client.Tag(t.Context(), launched.ID, map[string]string{"Name": "general/claim-1"}); err != nil {
		t.Fatal(err)
	}
	if seen, err := client.Instances(t.Context()); err != nil || seen[0].Tags["Name"] != "general/claim-1" {
		t.Errorf("%+v, %v", seen, err)
	}
	for range 2 {
		if err := client.Terminate(t.Context(), launched.ID); err != nil {
			t.Fatal(err)
		}
	}
	if len(a.alive()) != 0 {
		t.Error("the instance runs")
	}
	if err := client.Terminate(t.Context(), "i-0123456789abcdef0"); err != nil {
		t.Errorf("terminating what EC2 has forgotten: %v", err)
	}
	if err := client.Tag(t.Context(), "i-0123456789abcdef0", map[string]string{"Name": "x"}); err != nil {
		t.Errorf("tagging what EC2 has forgotten: %v", err)
	}
	a.service.Throttle("TerminateInstances", 1, 0)
	if err := client.Terminate(t.Context(), launched.ID); err == nil || !strings.Contains(err.Error(), launched.ID) {
		t.Errorf("throttled: %v", err)
	}
}

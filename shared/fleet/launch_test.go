package fleet_test

import (
	"errors"
	"fmt"
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

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/fleet"
	"github.com/whittle-dev/whittle/shared/launch"
	"github.com/whittle-dev/whittle/shared/nodeclass"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

// request asks for a spot m5.large or m6i.large in two zones for the claim.
func (a *account) request(t *testing.T, claim string) launch.Request {
	t.Helper()
	if _, err := a.iam.GetInstanceProfile(
		t.Context(), &awsiam.GetInstanceProfileInput{InstanceProfileName: aws.String("nodes")},
	); fleet.IsGone(err) {
		a.role(t, "nodes")
		if _, err := a.iam.CreateInstanceProfile(
			t.Context(), &awsiam.CreateInstanceProfileInput{InstanceProfileName: aws.String("nodes")},
		); err != nil {
			t.Fatal(err)
		}
		_, err := a.iam.AddRoleToInstanceProfile(
			t.Context(),
			&awsiam.AddRoleToInstanceProfileInput{InstanceProfileName: aws.String("nodes"), RoleName: aws.String("nodes")},
		)
		if err != nil {
			t.Fatal(err)
		}
	}
	tags := map[string]string{
		api.ClusterTagKey("prod"): api.ClusterTagOwned, api.EKSClusterNameTagKey: "prod",
		api.NodePoolLabelKey: "general", api.LabelNodeClass: "default",
	}
	content := nodeclass.LaunchTemplate{
		Name: "karpenter.k8s.aws/0123", ImageID: a.image(t, "x86_64"), InstanceProfile: "nodes",
		SecurityGroups: []string{a.group(t)},
		UserData:       "#!/bin/sh\n", Tags: tags,
		MetadataOptions: &api.MetadataOptions{
			HTTPTokens: aws.String("required"), HTTPPutResponseHopLimit: aws.Int64(1),
			HTTPEndpoint: aws.String("enabled"),
		},
		BlockDevices: []*api.BlockDeviceMapping{},
	}
	template := launch.Template{Content: content}
	subnets := a.subnets(t)
	for _, instanceType := range []string{"m5.large", "m6i.large"} {
		for _, zone := range []string{"us-east-1a", "us-east-1b"} {
			template.Overrides = append(
				template.Overrides,
				launch.Override{InstanceType: instanceType, Zone: zone, SubnetID: subnets[zone], Price: 0.1},
			)
		}
	}
	own := map[string]string{api.NodeClaimTagKey: claim}
	for key, value := range tags {
		own[key] = value
	}
	return launch.Request{
		Name: fmt.Sprintf("nodeclaim %q", claim), Count: 1, ClientToken: claim + "-1",
		CapacityType: api.CapacityTypeSpot, Templates: []launch.Template{template}, Tags: own,
	}
}

func mustLaunch(t *testing.T, client *fleet.Client, request launch.Request) *fleet.Instance {
	t.Helper()
	outcome, err := client.Launch(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if len(outcome.Instances) != 1 {
		t.Fatalf("%d instances, short of %v", len(outcome.Instances), outcome.Short)
	}
	return &outcome.Instances[0]
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
	if launched.ID != seen.ID || launched.InstanceType != seen.InstanceType || launched.Zone != seen.Zone ||
		launched.ImageID != seen.ImageID ||
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
	second := mustLaunch(t, client, request)
	if second.CapacityType != api.CapacityTypeOnDemand {
		t.Errorf("asked for on-demand, got %+v", second)
	}
	if own, err := client.InstancesOfClaim(t.Context(), "claim-1"); err != nil || len(own) != 1 ||
		own[0].ID != launched.ID {
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
			t.Errorf(
				"%s: got %s in %s, want the one with the lowest price given, %s in %s", capacityType, got.InstanceType,
				got.Zone, wanted.InstanceType, wanted.Zone,
			)
		}
	}
}

func TestLaunchedTwiceWithOneTokenIsOneInstance(t *testing.T) {
	a := newAccount(t)
	request := a.request(t, "claim-1")
	first := mustLaunch(t, fleet.New(a.ec2, "prod"), request)
	// Another container, which has never seen the launch template, as after a crash.
	if again := mustLaunch(t, fleet.New(a.ec2, "prod"), request); again.ID != first.ID || again.Zone != first.Zone ||
		again.InstanceType != first.InstanceType {
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
			if err != nil || len(outcome.Instances) != 1 {
				t.Errorf("%+v, %v", outcome, err)
				return
			}
			ids[i] = outcome.Instances[0].ID
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
	if found.ID != first.ID || found.Zone != first.Zone || found.InstanceType != first.InstanceType ||
		found.ImageID != first.ImageID {
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
	if err == nil || len(outcome.Instances) != 0 || !strings.Contains(err.Error(), "try again") {
		t.Errorf("%+v, %v", outcome, err)
	}
	if alive := a.alive(); len(alive) != 1 {
		t.Errorf("%d instances run", len(alive))
	}
}

func TestShortagesNameWhatToLeaveOut(t *testing.T) {
	for _, test := range []struct {
		code   string
		bought string
		want   []string
		lasts  time.Duration
		advice string
	}{
		{
			"", "spot",
			[]string{
				"spot:m5.large:us-east-1a", "spot:m5.large:us-east-1b", "spot:m6i.large:us-east-1a",
				"spot:m6i.large:us-east-1b",
			},
			3 * time.Minute, "",
		},
		{
			"UnfulfillableCapacity", "on-demand",
			[]string{
				"on-demand:m5.large:us-east-1a", "on-demand:m5.large:us-east-1b", "on-demand:m6i.large:us-east-1a",
				"on-demand:m6i.large:us-east-1b",
			},
			3 * time.Minute, "",
		},
		{
			"Unsupported", "on-demand",
			[]string{
				"on-demand:m5.large:us-east-1a", "on-demand:m5.large:us-east-1b", "on-demand:m6i.large:us-east-1a",
				"on-demand:m6i.large:us-east-1b",
			},
			15 * time.Minute, "",
		},
		{
			"InvalidInstanceType", "on-demand",
			[]string{
				"on-demand:m5.large:us-east-1a", "on-demand:m5.large:us-east-1b", "on-demand:m6i.large:us-east-1a",
				"on-demand:m6i.large:us-east-1b",
			},
			15 * time.Minute, "",
		},
		{"MaxSpotInstanceCountExceeded", "spot", []string{"quota:spot:standard"}, 5 * time.Minute, "quota"},
		{"VcpuLimitExceeded", "on-demand", []string{"quota:on-demand:standard"}, 5 * time.Minute, "quota"},
		{"MaxFleetCountExceeded", "spot", []string{"*:*:*"}, time.Minute, "quota"},
		{
			"AuthFailure.ServiceLinkedRoleCreationNotPermitted", "spot", []string{"spot:*:*"}, 3 * time.Minute,
			"aws iam create-service-linked-role --aws-service-name spot.amazonaws.com",
		},
		{
			"InsufficientFreeAddressesInSubnet", "spot", []string{"subnet:A", "subnet:B"}, 3 * time.Minute,
			"spec.subnetSelectorTerms",
		},
	} {
		t.Run(test.code, func(t *testing.T) {
			a := newAccount(t)
			client, request := fleet.New(a.ec2, "prod"), a.request(t, "claim-1")
			request.CapacityType = test.bought
			a.service.Starve(ec2.Starvation{Code: test.code})
			outcome, err := client.Launch(t.Context(), request)
			if err != nil || len(outcome.Instances) != 0 {
				t.Fatalf("%+v, %v", outcome, err)
			}
			subnets := a.subnets(t)
			var keys []string
			for _, short := range outcome.Short {
				keys = append(keys, strings.NewReplacer(subnets["us-east-1a"], "A", subnets["us-east-1b"], "B").Replace(short.Key))
				if short.For != test.lasts {
					t.Errorf("%s is left out for %s, want %s", short.Key, short.For, test.lasts)
				}
				if advice := short.Advice(); !strings.Contains(advice, test.advice) || (advice == "") != (test.advice == "") {
					t.Errorf("advice %q, want %q in it", advice, test.advice)
				}
			}
			if slices.Sort(keys); !slices.Equal(keys, test.want) {
				t.Errorf("left out %q, want %q", keys, test.want)
			}
			if len(a.alive()) != 0 {
				t.Error("an instance runs")
			}
		})
	}
}

func TestWhatIsShortBesideALaunchIsToldToo(t *testing.T) {
	a := newAccount(t)
	client, request := fleet.New(a.ec2, "prod"), a.request(t, "claim-1")
	request.CapacityType = api.CapacityTypeOnDemand
	a.service.Starve(ec2.Starvation{Zone: "us-east-1a"})
	outcome, err := client.Launch(t.Context(), request)
	if err != nil || len(outcome.Instances) != 1 || len(outcome.Short) == 0 ||
		!strings.HasSuffix(outcome.Short[0].Key, ":us-east-1a") {
		t.Errorf("%+v, %v", outcome, err)
	}
}

func TestABatchIsLaunchedByOneCall(t *testing.T) {
	a := newAccount(t)
	client, request := fleet.New(a.ec2, "prod"), a.request(t, "batch")
	request.Count = 5
	delete(request.Tags, api.NodeClaimTagKey)
	request.Tags[api.BatchTagKey] = request.ClientToken
	first, err := client.Launch(t.Context(), request)
	if err != nil || len(first.Instances) != 5 || first.Earlier {
		t.Fatalf("%+v, %v", first, err)
	}
	if !slices.IsSortedFunc(first.Instances, func(a, b fleet.Instance) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("the instances are not in the order of their ids")
	}
	again, err := fleet.New(a.ec2, "prod").Launch(t.Context(), request)
	if err != nil ||
		!slices.EqualFunc(first.Instances, again.Instances, func(a, b fleet.Instance) bool { return a.ID == b.ID }) {
		t.Errorf("%+v, %v, want the same instances", again, err)
	}
	// Another view of what is short since: the same token, other overrides.
	request.Templates[0].Overrides = request.Templates[0].Overrides[:1]
	found, err := client.Launch(t.Context(), request)
	if err != nil || !found.Earlier ||
		!slices.EqualFunc(first.Instances, found.Instances, func(a, b fleet.Instance) bool { return a.ID == b.ID }) {
		t.Errorf("%+v, %v, want the instances found by their tag", found, err)
	}
	if alive := a.alive(); len(alive) != 5 {
		t.Errorf("%d instances run", len(alive))
	}
	if err := client.Terminate(t.Context(), first.Instances[0].ID); err != nil {
		t.Fatal(err)
	}
	if rest, err := client.Launch(t.Context(), request); !errors.Is(err, fleet.ErrUnseen) || len(rest.Instances) != 4 {
		t.Errorf("%+v, %v, want those that are there, and that more may come to be seen", rest, err)
	}
}

func TestFewerThanABatchAsksFor(t *testing.T) {
	a := newAccount(t)
	client, request := fleet.New(a.ec2, "prod"), a.request(t, "batch")
	request.Count = 5
	a.service.SetLimits(ec2.Limits{SpotInstances: 3, OnDemandVCPUs: -1})
	outcome, err := client.Launch(t.Context(), request)
	if err != nil || len(outcome.Instances) != 3 || len(outcome.Short) != 1 ||
		outcome.Short[0].Key != "quota:spot:standard" {
		t.Errorf("%+v, %v", outcome, err)
	}
}

// TestAWholeBatchIsLaunchedOrNothing lets EC2 have room for 3 of 5 instances, or of 4 CPUs for 10.
func TestAWholeBatchIsLaunchedOrNothing(t *testing.T) {
	for _, capacityType := range []string{api.CapacityTypeSpot, api.CapacityTypeOnDemand} {
		t.Run(capacityType, func(t *testing.T) {
			a := newAccount(t)
			client, request := fleet.New(a.ec2, "prod"), a.request(t, "batch")
			request.Count, request.Whole, request.CapacityType = 5, true, capacityType
			overrides := request.Templates[0].Overrides
			request.Templates[0].Overrides = slices.DeleteFunc(slices.Clone(overrides), func(o launch.Override) bool {
				return o.Zone != overrides[0].Zone
			})
			a.service.SetLimits(ec2.Limits{SpotInstances: 3, OnDemandVCPUs: 4})
			outcome, err := client.Launch(t.Context(), request)
			if err != nil || len(outcome.Instances) != 0 || len(outcome.Short) == 0 || len(a.alive()) != 0 {
				t.Errorf("%+v, %v, and %d instances run, want none and what is short", outcome, err, len(a.alive()))
			}
			a.service.SetLimits(ec2.Limits{SpotInstances: 5, OnDemandVCPUs: 10})
			request.ClientToken = "batch-2"
			outcome, err = client.Launch(t.Context(), request)
			if err != nil || len(outcome.Instances) != 5 {
				t.Errorf("%+v, %v, want 5 instances where there is room", outcome, err)
			}
		})
	}
}

func TestFailuresAreNamedWithTheirMend(t *testing.T) {
	for _, test := range []struct {
		code, reason, mend, class string
		message                   string // empty for EC2's own
	}{
		{"UnauthorizedOperation", "Unauthorized", "right", "ValidationSucceeded", ""},
		{"InvalidAMIID.NotFound", "AMINotFound", "spec.amiSelectorTerms", "AMIsReady", ""},
		{"InvalidSubnetID.NotFound", "SubnetResolutionFailed", "spec.subnetSelectorTerms", "SubnetsReady", ""},
		{"InvalidGroup.NotFound", "SecurityGroupSubnetVPCMismatch", "spec.securityGroupSelectorTerms", "SecurityGroupsReady", ""},
		{"PendingVerification", "AccountPendingVerification", "verifying", "", ""},
		{"InvalidLaunchTemplateName.NotFoundException", "LaunchTemplateNotFound", "launch templates", "", ""},
		{"RequestLimitExceeded", "RequestLimitExceeded", "", "", ""},
		{"InternalError", "InternalError", "", "", ""},
		{"InvalidParameterValue", "VolumeKeyInvalid", "volumeKeys", "ValidationSucceeded", "The KMS key is disabled."},
		{
			"OptInRequired", "AMISubscriptionRequired", "accept the product's terms", "AMIsReady",
			"To use this AWS Marketplace product you need to accept terms and subscribe.",
		},
		{"OptInRequired", "AccountPendingVerification", "mail of AWS", "", "You are not subscribed to this service."},
		{"TagLimitExceeded", "TagValidationFailed", "spec.tags", "ValidationSucceeded", ""},
		{
			"InvalidParameterValue", "TagValidationFailed", "spec.tags", "ValidationSucceeded",
			"Tag keys starting with 'aws:' are reserved for internal use.",
		},
		{
			"InvalidBlockDeviceMapping", "InvalidBlockDeviceMapping", "volumeSize", "ValidationSucceeded",
			"Volume of size 10GB is smaller than snapshot 'snap-1', expect size >= 20GB",
		},
		{"VolumeLimitExceeded", "VolumeQuotaExceeded", "quota", "", ""},
		{"NetworkInterfaceLimitExceeded", "NetworkInterfaceQuotaExceeded", "quota", "", ""},
		{
			"SecurityGroupsPerInstanceLimitExceeded", "SecurityGroupLimitExceeded", "spec.securityGroupSelectorTerms",
			"SecurityGroupsReady", "",
		},
		{
			"InvalidPlacementGroup.Unknown", "PlacementGroupNotFound", "spec.placementGroupSelector", "PlacementGroupReady", "",
		},
		{"SomethingNew", "LaunchFailed", "", "", ""},
	} {
		t.Run(test.code, func(t *testing.T) {
			a := newAccount(t)
			client, request := fleet.New(a.ec2, "prod"), a.request(t, "claim-1")
			a.service.Starve(ec2.Starvation{Code: test.code, Message: test.message})
			_, err := client.Launch(t.Context(), request)
			failure := fleet.FailureIn(err)
			if failure == nil || !errors.Is(err, fleet.ErrRefused) {
				t.Fatalf("got %v", err)
			}
			if failure.Reason != test.reason || failure.Code != test.code || !strings.Contains(failure.Remedy, test.mend) ||
				failure.Condition != test.class {
				t.Errorf("%+v", failure)
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
	if err == nil || len(outcome.Short) > 0 || !strings.Contains(err.Error(), `nodeclaim "claim-1"`) ||
		!strings.Contains(err.Error(), "InvalidParameterValue") {
		t.Errorf("%+v, %v", outcome, err)
	}
	if len(outcome.Unfit) != 4 || outcome.Unfit[0].Key != "spot:m5.large:us-east-1a:ec2nodeclass/default" {
		t.Errorf("unfit: %+v", outcome.Unfit)
	}
	a.service.Throttle("CreateFleet", 1, 0)
	if _, err := client.Launch(t.Context(), a.request(t, "claim-2")); err == nil ||
		!strings.Contains(err.Error(), "RequestLimitExceeded") {
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
	described, err := a.ec2.DescribeLaunchTemplates(
		t.Context(), &awsec2.DescribeLaunchTemplatesInput{LaunchTemplateNames: []string{"karpenter.k8s.aws/0123"}},
	)
	if err != nil || len(described.LaunchTemplates) != 1 {
		t.Fatalf("%v, %v", described, err)
	}
	if tags := described.LaunchTemplates[0].Tags; !slices.ContainsFunc(
		tags, func(tag types.Tag) bool { return *tag.Key == api.NodePoolLabelKey && *tag.Value == "general" },
	) {
		t.Errorf("the template's tags are %v", tags)
	}
	// Someone deletes it behind the container's back: it is made anew in the same launch.
	if _, err := a.ec2.DeleteLaunchTemplate(
		t.Context(), &awsec2.DeleteLaunchTemplateInput{LaunchTemplateName: aws.String("karpenter.k8s.aws/0123")},
	); err != nil {
		t.Fatal(err)
	}
	mustLaunch(t, client, a.request(t, "claim-4"))
	if got := a.count("CreateLaunchTemplate"); got != 3 {
		t.Errorf("the template was asked for %d times, want once a container and once after it was deleted", got)
	}
}

func TestFreeAddresses(t *testing.T) {
	a := newAccount(t)
	client := fleet.New(a.ec2, "prod")
	subnets := a.subnets(t)
	before, err := client.FreeAddresses(t.Context(), []string{subnets["us-east-1a"], subnets["us-east-1b"], "subnet-gone"})
	if err != nil || len(before) != 2 || before[subnets["us-east-1a"]] == 0 {
		t.Fatalf("%v, %v", before, err)
	}
	launched := mustLaunch(t, client, a.request(t, "claim-1"))
	after, err := client.FreeAddresses(t.Context(), []string{launched.SubnetID})
	if err != nil || after[launched.SubnetID] != before[launched.SubnetID]-1 {
		t.Errorf("%v, %v, want one less than %v", after, err, before)
	}
}

func TestALaunchTemplateHasAllThatTheClassSays(t *testing.T) {
	a := newAccount(t)
	request := a.request(t, "claim-1")
	content := &request.Templates[0].Content
	size := resource.MustParse("19.5Gi") // EC2 counts whole GiB
	content.DetailedMonitoring = true
	content.NetworkInterfaces = []nodeclass.NetworkInterface{{Type: "interface", PublicAddress: aws.Bool(false)}}
	content.BlockDevices = []*api.BlockDeviceMapping{{DeviceName: aws.String("/dev/xvda"), EBS: &api.BlockDevice{
		VolumeSize: &size, VolumeType: aws.String("gp3"), Encrypted: aws.Bool(true), IOPS: aws.Int64(4000),
		Throughput: aws.Int64(200), DeleteOnTermination: aws.Bool(true),
	}}}
	mustLaunch(t, fleet.New(a.ec2, "prod"), request)
	versions, err := a.ec2.DescribeLaunchTemplateVersions(
		t.Context(), &awsec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateName: &content.Name},
	)
	if err != nil || len(versions.LaunchTemplateVersions) != 1 {
		t.Fatalf("%v, %v", versions, err)
	}
	data := versions.LaunchTemplateVersions[0].LaunchTemplateData
	if aws.ToString(data.ImageId) != content.ImageID || aws.ToString(data.UserData) != "IyEvYmluL3NoCg==" ||
		aws.ToString(data.IamInstanceProfile.Name) != "nodes" {
		t.Errorf("data is %+v", data)
	}
	if data.Monitoring == nil || !aws.ToBool(data.Monitoring.Enabled) || data.MetadataOptions == nil ||
		data.MetadataOptions.HttpTokens != "required" || *data.MetadataOptions.HttpPutResponseHopLimit != 1 {
		t.Errorf("monitoring %+v, metadata options %+v", data.Monitoring, data.MetadataOptions)
	}
	if len(data.SecurityGroupIds) != 0 || len(data.NetworkInterfaces) != 1 ||
		aws.ToBool(data.NetworkInterfaces[0].AssociatePublicIpAddress) ||
		!slices.Equal(data.NetworkInterfaces[0].Groups, content.SecurityGroups) {
		t.Errorf("groups %v, interfaces %+v", data.SecurityGroupIds, data.NetworkInterfaces)
	}
	if len(data.BlockDeviceMappings) != 1 {
		t.Fatalf("block devices are %+v", data.BlockDeviceMappings)
	}
	disk := data.BlockDeviceMappings[0].Ebs
	if aws.ToInt32(disk.VolumeSize) != 20 || disk.VolumeType != "gp3" || !aws.ToBool(disk.Encrypted) ||
		aws.ToInt32(disk.Iops) != 4000 || aws.ToInt32(disk.Throughput) != 200 {
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

// TestOneBadInstanceKeepsNoOtherFromEnding ends instances at once. EC2 has forgotten one of them.
func TestOneBadInstanceKeepsNoOtherFromEnding(t *testing.T) {
	a := newAccount(t)
	client, request := fleet.New(a.ec2, "prod"), a.request(t, "batch")
	request.Count = 12
	outcome, err := client.Launch(t.Context(), request)
	if err != nil || len(outcome.Instances) != 12 {
		t.Fatalf("%+v, %v", outcome, err)
	}
	ids := []string{"i-0123456789abcdef0"}
	for _, instance := range outcome.Instances {
		ids = append(ids, instance.ID)
	}
	var group sync.WaitGroup
	for _, id := range ids {
		group.Go(func() {
			if err := client.Terminate(t.Context(), id); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if alive := a.alive(); len(alive) != 0 {
		t.Errorf("%v still run", alive)
	}
}

package ec2_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/testdata/lab/ec2"
)

func allTypes(t *testing.T) []builtin.InstanceType {
	t.Helper()
	all, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEveryCodeOfALaunchComesInTheErrorSet(t *testing.T) {
	a := newAccount(t)
	a.template(t, "nodes")
	for code, message := range map[string]string{
		"InsufficientInstanceCapacity": "us-east-1a", "SpotMaxPriceTooLow": "fulfillment price",
		"UnfulfillableCapacity": "Unable to fulfill", "Unsupported": "not supported",
		"ReservationCapacityExceeded": "requested reservation", "MaxSpotInstanceCountExceeded": "Max spot",
		"VcpuLimitExceeded": "vCPU", "MaxFleetCountExceeded": "EC2 Fleets",
		"InsufficientFreeAddressesInSubnet": a.subnet(t,
			"us-east-1a"), "AuthFailure.ServiceLinkedRoleCreationNotPermitted": "service-linked role",
		"RequestLimitExceeded": "Request limit", "UnauthorizedOperation": "not authorized",
		"InvalidParameter": "belong to different networks", "PendingVerification": "validat",
	} {
		a.service.Feed("", "", "")
		a.service.Starve(ec2.Starvation{SubnetID: a.subnet(t, "us-east-1a"), Code: code})
		out, err := a.CreateFleet(t.Context(), a.fleet(t, types.DefaultTargetCapacityTypeOnDemand, "m5.large"))
		if err != nil || len(out.Instances) != 1 || text(out.Instances[0].AvailabilityZone) != "us-east-1b" ||
			len(out.Errors) != 1 {
			t.Errorf("%s: %+v, %v", code, out, err)
			continue
		}
		e := out.Errors[0]
		if text(e.ErrorCode) != code || !containsText(text(e.ErrorMessage), message) ||
			text(e.LaunchTemplateAndOverrides.Overrides.SubnetId) != a.subnet(t, "us-east-1a") {
			t.Errorf("%s: %+v %s", code, e, text(e.ErrorMessage))
		}
	}
	if refusals := a.service.Refusals(); len(refusals) != 14 || refusals[0].InstanceType != "m5.large" ||
		refusals[0].Zone != "us-east-1a" {
		t.Errorf("%d refusals are noted, want 14: %+v", len(refusals), refusals)
	}
}

func TestCallsFailOnRequest(t *testing.T) {
	a := newAccount(t)
	a.template(t, "nodes")
	once := func(o *awsec2.Options) { o.Retryer = aws.NopRetryer{} }
	for _, code := range []string{
		"RequestLimitExceeded", "UnauthorizedOperation", "InternalError", "MaxFleetCountExceeded",
	} {
		a.service.FailCalls(ec2.CallFailure{Action: "CreateFleet", Code: code, Times: 1})
		_, err := a.CreateFleet(t.Context(), a.fleet(t, types.DefaultTargetCapacityTypeOnDemand, "m5.large"), once)
		wantCode(t, err, code)
	}
	in := a.fleet(t, types.DefaultTargetCapacityTypeOnDemand, "m5.large")
	in.ClientToken = aws.String("lost")
	a.service.FailCalls(ec2.CallFailure{Action: "CreateFleet", Code: "InternalError", Times: 1, Done: true})
	_, err := a.CreateFleet(t.Context(), in, once)
	wantCode(t, err, "InternalError")
	out, err := a.CreateFleet(t.Context(), in)
	if err != nil || len(out.Instances) != 1 || len(a.service.Instances()) != 1 {
		t.Errorf("a call whose answer was lost launched %d instances: %+v, %v", len(a.service.Instances()), out, err)
	}
	a.service.FailCalls(ec2.CallFailure{Action: "Describe*", Code: "ServiceUnavailable"})
	_, err = a.DescribeSubnets(t.Context(), &awsec2.DescribeSubnetsInput{}, once)
	wantCode(t, err, "ServiceUnavailable")
	a.service.FailCalls(ec2.CallFailure{Action: "Describe*"})
	if _, err := a.DescribeSubnets(t.Context(), &awsec2.DescribeSubnetsInput{}, once); err != nil {
		t.Errorf("the failure did not end: %v", err)
	}
}

func TestDryRunsRefuseLikeTheCall(t *testing.T) {
	a := newAccount(t)
	a.template(t, "nodes")
	fleet := a.fleet(t, types.DefaultTargetCapacityTypeOnDemand, "m5.large")
	fleet.DryRun = aws.Bool(true)
	_, err := a.CreateFleet(t.Context(), fleet)
	wantCode(t, err, "DryRunOperation")
	fleet.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = aws.String("none")
	_, err = a.CreateFleet(t.Context(), fleet)
	wantCode(t, err, "InvalidLaunchTemplateName.NotFoundException")
	run := &awsec2.RunInstancesInput{
		MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "m5.large", DryRun: aws.Bool(true),
		LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("nodes")},
	}
	_, err = a.RunInstances(t.Context(), run)
	wantCode(t, err, "DryRunOperation")
	run.ImageId = aws.String("ami-1")
	_, err = a.RunInstances(t.Context(), run)
	wantCode(t, err, "InvalidAMIID.NotFound")
	template := &awsec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("dry"),
		LaunchTemplateData: &types.RequestLaunchTemplateData{KeyName: aws.String("key")}, DryRun: aws.Bool(true),
	}
	_, err = a.CreateLaunchTemplate(t.Context(), template)
	wantCode(t, err, "DryRunOperation")
	template.LaunchTemplateName = aws.String("nodes")
	_, err = a.CreateLaunchTemplate(t.Context(), template)
	wantCode(t, err, "InvalidLaunchTemplateName.AlreadyExistsException")
	if n := len(a.service.Instances()); n != 0 {
		t.Errorf("dry runs launched %d instances", n)
	}
}

func TestInterfacesTakeTheirAddresses(t *testing.T) {
	a := newAccount(t)
	free := func() int {
		out, err := a.DescribeSubnets(t.Context(),
			&awsec2.DescribeSubnetsInput{SubnetIds: []string{a.subnet(t, "us-east-1a")}})
		if err != nil {
			t.Fatal(err)
		}
		return int(aws.ToInt32(out.Subnets[0].AvailableIpAddressCount))
	}
	run := func(instanceType types.InstanceType,
		interfaces ...types.InstanceNetworkInterfaceSpecification) (*types.Instance, error) {
		out, err := a.RunInstances(t.Context(), &awsec2.RunInstancesInput{
			MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ImageId: aws.String(a.image("x86_64")), InstanceType: instanceType,
			NetworkInterfaces: interfaces,
		})
		if err != nil {
			return nil, err
		}
		return &out.Instances[0], nil
	}
	subnet := aws.String(a.subnet(t, "us-east-1a"))
	before := free()
	i, err := run("m5.large", types.InstanceNetworkInterfaceSpecification{
		DeviceIndex: aws.Int32(0), SubnetId: subnet, Ipv4PrefixCount: aws.Int32(2),
		SecondaryPrivateIpAddressCount: aws.Int32(3), AssociatePublicIpAddress: aws.Bool(true),
		ConnectionTrackingSpecification: &types.ConnectionTrackingSpecificationRequest{UdpTimeout: aws.Int32(45)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if taken := before - free(); taken != 4+2*16 {
		t.Errorf("4 addresses and 2 prefixes of 16 took %d", taken)
	}
	n := i.NetworkInterfaces[0]
	if len(n.PrivateIpAddresses) != 4 || len(n.Ipv4Prefixes) != 2 || text(i.PublicIpAddress) == "" ||
		aws.ToInt32(n.ConnectionTrackingConfiguration.UdpTimeout) != 45 {
		t.Errorf("the interface is %+v", n)
	}
	if err := a.service.Terminate(text(i.InstanceId)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all addresses are free again", func() bool { return free() == before })

	fabric := fabricType(t)
	i, err = run(types.InstanceType(fabric),
		types.InstanceNetworkInterfaceSpecification{
			DeviceIndex: aws.Int32(0), NetworkCardIndex: aws.Int32(0), InterfaceType: aws.String("interface"),
		},
		types.InstanceNetworkInterfaceSpecification{
			DeviceIndex: aws.Int32(1), NetworkCardIndex: aws.Int32(0), InterfaceType: aws.String("efa-only"),
		})
	if err != nil || len(i.NetworkInterfaces) != 2 || text(i.NetworkInterfaces[1].InterfaceType) != "efa-only" ||
		i.NetworkInterfaces[1].PrivateIpAddress != nil {
		t.Errorf("an efa-only interface of %s: %+v, %v", fabric, i, err)
	}
	for _, c := range []struct {
		code       string
		interfaces []types.InstanceNetworkInterfaceSpecification
	}{
		{
			"InvalidParameterCombination",
			[]types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), InterfaceType: aws.String("efa")}},
		},
		{"InvalidParameterCombination", []types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(1)}}},
		{
			"PrivateIpAddressLimitExceeded",
			[]types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), Ipv4PrefixCount: aws.Int32(10)}},
		},
		{
			"AttachmentLimitExceeded",
			[]types.InstanceNetworkInterfaceSpecification{
				{DeviceIndex: aws.Int32(0)}, {DeviceIndex: aws.Int32(1)}, {DeviceIndex: aws.Int32(2)}, {DeviceIndex: aws.Int32(3)},
			},
		},
		{
			"InvalidParameterValue",
			[]types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), NetworkCardIndex: aws.Int32(1)}},
		},
		{
			"InvalidParameterValue",
			[]types.InstanceNetworkInterfaceSpecification{{DeviceIndex: aws.Int32(0), Ipv6AddressCount: aws.Int32(1)}},
		},
	} {
		_, err := run("m5.large", c.interfaces...)
		wantCode(t, err, c.code)
	}
}

// fabricType is a type of the x86_64 architecture with EFA that is offered in the first zone.
func fabricType(t *testing.T) string {
	t.Helper()
	for _, facts := range allTypes(t) {
		if facts.Network.EFASupported && facts.Architectures[0] == "x86_64" && !facts.BareMetal &&
			facts.Zones[0] == "us-east-1a" {
			return facts.Name
		}
	}
	t.Fatal("no type has EFA")
	return ""
}

func TestHardwareOptions(t *testing.T) {
	a := newAccount(t)
	run := func(change func(*awsec2.RunInstancesInput)) error {
		in := &awsec2.RunInstancesInput{
			MinCount: aws.Int32(1), MaxCount: aws.Int32(1), ImageId: aws.String(a.image("x86_64")), InstanceType: "t3.medium",
		}
		change(in)
		_, err := a.RunInstances(t.Context(), in)
		return err
	}
	wantCode(t, run(func(in *awsec2.RunInstancesInput) {
		in.EnclaveOptions = &types.EnclaveOptionsRequest{Enabled: aws.Bool(true)}
	}), "Unsupported")
	wantCode(t, run(func(in *awsec2.RunInstancesInput) {
		in.CpuOptions = &types.CpuOptionsRequest{NestedVirtualization: "enabled"}
	}), "Unsupported")
	wantCode(t, run(func(in *awsec2.RunInstancesInput) {
		in.CpuOptions = &types.CpuOptionsRequest{CoreCount: aws.Int32(64)}
	}), "InvalidParameterValue")
	wantCode(t, run(func(in *awsec2.RunInstancesInput) {
		in.Placement = &types.Placement{Tenancy: types.TenancyHost}
	}), "Unsupported")
	if err := run(func(in *awsec2.RunInstancesInput) {
		in.InstanceType, in.EnclaveOptions = "m5.xlarge", &types.EnclaveOptionsRequest{Enabled: aws.Bool(true)}
		in.Placement = &types.Placement{Tenancy: types.TenancyDedicated}
		in.CpuOptions = &types.CpuOptionsRequest{CoreCount: aws.Int32(1), ThreadsPerCore: aws.Int32(1)}
	}); err != nil {
		t.Error(err)
	}
}

func TestChaosIsSeededAndChanges(t *testing.T) {
	a, b := newAccount(t), newAccount(t)
	chaos := ec2.Chaos{Share: 0.7, Seed: 42, Period: time.Hour}
	a.service.SetChaos(chaos)
	b.service.SetChaos(chaos)
	shortages := func(a *account) map[string]bool {
		found := map[string]bool{}
		for _, facts := range allTypes(t) {
			for _, zone := range facts.Zones {
				for _, capacityType := range []string{ec2.OnDemand, ec2.Spot} {
					found[facts.Name+zone+capacityType] = a.service.Short(facts.Name, zone, capacityType)
				}
			}
		}
		return found
	}
	share := func(found map[string]bool) float64 {
		short := 0
		for _, is := range found {
			if is {
				short++
			}
		}
		return float64(short) / float64(len(found))
	}
	differ := func(one, other map[string]bool) float64 {
		n := 0
		for offering := range one {
			if one[offering] != other[offering] {
				n++
			}
		}
		return float64(n) / float64(len(one))
	}
	first := shortages(a)
	if got := share(first); got < 0.67 || got > 0.73 {
		t.Errorf("%.3f of the offerings are short, want about 0.7", got)
	}
	if d := differ(first, shortages(b)); d > 0.001 {
		t.Errorf("the same seed differs in %.3f of the offerings", d)
	}
	a.service.PassChaos(30 * time.Minute)
	if d := differ(first, shortages(a)); d < 0.15 || d > 0.27 { // half of them changed: 0.5 * 2 * 0.7 * 0.3
		t.Errorf("after half a period %.3f differ, want about 0.21", d)
	}
	a.service.PassChaos(90 * time.Minute)
	later := shortages(a)
	if d := differ(first, later); d < 0.36 || d > 0.48 {
		t.Errorf("after two periods %.3f differ, want about 0.42", d)
	}
	if got := share(later); got < 0.67 || got > 0.73 {
		t.Errorf("later %.3f of the offerings are short", got)
	}
	a.service.SetChaos(ec2.Chaos{})
	if got := share(shortages(a)); got != 0 {
		t.Errorf("without chaos %.3f are short", got)
	}
}

func TestRatesAreBuckets(t *testing.T) {
	a := newAccount(t)
	once := func(o *awsec2.Options) { o.Retryer = aws.NopRetryer{} }
	a.service.SetRates(ec2.Rate{Action: "Describe*", PerSecond: 20, Burst: 3})
	through := 0
	for range 10 {
		if _, err := a.DescribeSubnets(t.Context(), &awsec2.DescribeSubnetsInput{}, once); err == nil {
			through++
		} else {
			wantCode(t, err, "RequestLimitExceeded")
		}
	}
	if through < 3 || through > 6 {
		t.Errorf("%d of 10 calls at once went through a bucket of 3", through)
	}
	if _, err := a.DescribeVpcs(t.Context(), &awsec2.DescribeVpcsInput{}, once); err != nil {
		t.Errorf("another action has another bucket: %v", err)
	}
	adaptive := func(o *awsec2.Options) { o.Retryer = retry.NewAdaptiveMode() }
	if _, err := a.DescribeSubnets(t.Context(), &awsec2.DescribeSubnetsInput{}, adaptive); err != nil {
		t.Errorf("the bucket does not refill: %v", err)
	}
	a.service.SetRates()
	for range 10 {
		if _, err := a.DescribeSubnets(t.Context(), &awsec2.DescribeSubnetsInput{}, once); err != nil {
			t.Fatalf("without rates: %v", err)
		}
	}
}

func TestAFleetOfManyIsGroupedByOverride(t *testing.T) {
	a := newAccount(t)
	a.template(t, "nodes")
	a.service.SetLimits(ec2.Limits{SpotInstances: -1, OnDemandVCPUs: 40})
	in := a.fleet(t, types.DefaultTargetCapacityTypeOnDemand, "m5.large", "m5.xlarge")
	in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(30)
	in.ClientToken = aws.String("many")
	out, err := a.CreateFleet(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	again, err := a.CreateFleet(t.Context(), in)
	if err != nil || len(launched(t, again)) != len(launched(t, out)) || len(launched(t, out)) != 20 {
		t.Errorf("%d instances came, and again %d, %v; want 20 of 40 vCPUs", len(launched(t, out)), len(launched(t, again)),
			err)
	}
	seen := map[string]bool{}
	for _, entry := range out.Instances {
		key := string(entry.InstanceType) + text(entry.SubnetId)
		if seen[key] {
			t.Errorf("two entries are for %s", key)
		}
		seen[key] = true
	}
	in = a.fleet(t, types.DefaultTargetCapacityTypeSpot, "m5.large", "m5.xlarge", "c5.large")
	in.TargetCapacitySpecification.TotalTargetCapacity = aws.Int32(12)
	in.SpotOptions.SingleAvailabilityZone, in.SpotOptions.AllocationStrategy = aws.Bool(true),
		types.SpotAllocationStrategyCapacityOptimized
	if out, err = a.CreateFleet(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	zones := map[string]bool{}
	for _, entry := range out.Instances {
		zones[text(entry.AvailabilityZone)] = true
	}
	if len(zones) != 1 || len(launched(t, out)) != 12 {
		t.Errorf("a fleet of one zone has %d instances in %v", len(launched(t, out)), zones)
	}
}

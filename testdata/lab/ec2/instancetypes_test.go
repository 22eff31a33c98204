package ec2_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/shared/catalog/builtin"
)

func describeAllTypes(t *testing.T, a *account,
	in *awsec2.DescribeInstanceTypesInput) map[string]types.InstanceTypeInfo {
	t.Helper()
	all := map[string]types.InstanceTypeInfo{}
	for pages := awsec2.NewDescribeInstanceTypesPaginator(a, in); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range page.InstanceTypes {
			all[string(info.InstanceType)] = info
		}
	}
	return all
}

// Every fact of the table must arrive at a client that EC2's own model was made into.
func TestDescribeInstanceTypesCarriesTheTable(t *testing.T) {
	a := newAccount(t)
	table, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	all := describeAllTypes(t, a, &awsec2.DescribeInstanceTypesInput{})
	if len(all) != len(table) {
		t.Fatalf("%d types came, the table has %d", len(all), len(table))
	}
	for i := range table {
		compareType(t, &table[i], all[table[i].Name])
	}
}

func compareType(t *testing.T, want *builtin.InstanceType, got types.InstanceTypeInfo) {
	t.Helper()
	check := func(fact string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s is %v, want %v", want, fact, got, want)
		}
	}
	if got.VCpuInfo == nil || got.MemoryInfo == nil || got.NetworkInfo == nil || got.ProcessorInfo == nil ||
		got.EbsInfo == nil {
		t.Fatalf("%s: a part of its facts is missing: %+v", want.Name, got)
	}
	check("vCPUs", int(aws.ToInt32(got.VCpuInfo.DefaultVCpus)), want.VCPUs)
	check("memory", aws.ToInt64(got.MemoryInfo.SizeInMiB), want.MemoryMiB)
	check("bare metal", aws.ToBool(got.BareMetal), want.BareMetal)
	check("hypervisor", string(got.Hypervisor), want.Hypervisor)
	check("current generation", aws.ToBool(got.CurrentGeneration), want.CurrentGeneration)
	check("manufacturer", text(got.ProcessorInfo.Manufacturer), want.ProcessorManufacturer)
	check("architectures", len(got.ProcessorInfo.SupportedArchitectures), len(want.Architectures))
	check("interfaces", int(aws.ToInt32(got.NetworkInfo.MaximumNetworkInterfaces)), want.Network.MaximumInterfaces)
	check("IPv4 addresses", int(aws.ToInt32(got.NetworkInfo.Ipv4AddressesPerInterface)), want.Network.IPv4PerInterface)
	check("cards", len(got.NetworkInfo.NetworkCards), len(want.Network.Cards))
	check("ENA", string(got.NetworkInfo.EnaSupport), want.Network.ENASupport)
	check("EFA", aws.ToBool(got.NetworkInfo.EfaSupported), want.Network.EFASupported)
	check("EBS attachments", int(aws.ToInt32(got.EbsInfo.MaximumEbsAttachments)), want.EBS.MaximumAttachments)
	check("local storage", aws.ToBool(got.InstanceStorageSupported), len(want.InstanceStorage.Disks) > 0)
	if got.InstanceStorageInfo != nil {
		check("storage size", aws.ToInt64(got.InstanceStorageInfo.TotalSizeInGB), want.InstanceStorage.TotalGB)
		check("disks", len(got.InstanceStorageInfo.Disks), len(want.InstanceStorage.Disks))
	}
	gpus, accelerators, devices := 0, 0, 0
	if got.GpuInfo != nil {
		gpus = len(got.GpuInfo.Gpus)
	}
	if got.InferenceAcceleratorInfo != nil {
		accelerators = len(got.InferenceAcceleratorInfo.Accelerators)
	}
	if got.NeuronInfo != nil {
		devices = len(got.NeuronInfo.NeuronDevices)
	}
	check("GPUs", gpus, len(want.GPUs))
	check("inference accelerators", accelerators, len(want.InferenceAccelerators))
	check("Neuron devices", devices, len(want.NeuronDevices))
}

func TestDescribeInstanceTypesFilters(t *testing.T) {
	a := newAccount(t)
	filter := func(name string, values ...string) types.Filter { return types.Filter{Name: &name, Values: values} }
	for _, c := range []struct {
		name    string
		filters []types.Filter
		in, out string
	}{
		{"architecture", []types.Filter{filter("processor-info.supported-architecture", "arm64")}, "m7g.large", "m7i.large"},
		{"wildcard", []types.Filter{filter("instance-type", "c7i.*")}, "c7i.xlarge", "c7g.xlarge"},
		{"bare metal", []types.Filter{filter("bare-metal", "false")}, "m5.large", "m5.metal"},
		{
			"Karpenter's",
			[]types.Filter{
				filter("supported-virtualization-type", "hvm"), filter("processor-info.supported-architecture", "x86_64", "arm64"),
			},
			"m5.large", "",
		},
		{"generation", []types.Filter{filter("current-generation", "true")}, "m7i.large", "m1.small"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := describeAllTypes(t, a, &awsec2.DescribeInstanceTypesInput{Filters: c.filters, MaxResults: aws.Int32(50)})
			if _, ok := got[c.in]; !ok {
				t.Errorf("%s is missing among %d types", c.in, len(got))
			}
			if _, ok := got[c.out]; ok {
				t.Errorf("%s should not be there", c.out)
			}
		})
	}
	_, err := a.DescribeInstanceTypes(t.Context(),
		&awsec2.DescribeInstanceTypesInput{Filters: []types.Filter{filter("colour", "red")}})
	wantCode(t, err, "InvalidParameterValue")
	_, err = a.DescribeInstanceTypes(t.Context(),
		&awsec2.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"m5.tiny"}})
	wantCode(t, err, "InvalidInstanceType")
	_, err = a.DescribeInstanceTypes(t.Context(), &awsec2.DescribeInstanceTypesInput{MaxResults: aws.Int32(101)})
	wantCode(t, err, "InvalidParameterValue")
	_, err = a.DescribeInstanceTypes(t.Context(), &awsec2.DescribeInstanceTypesInput{NextToken: aws.String("nonsense")})
	wantCode(t, err, "InvalidNextToken")
}

func TestOfferingsAndSpotPricesAgree(t *testing.T) {
	a := newAccount(t)
	offered := map[string]bool{}
	for pages := awsec2.NewDescribeInstanceTypeOfferingsPaginator(a,
		&awsec2.DescribeInstanceTypeOfferingsInput{LocationType: types.LocationTypeAvailabilityZone}); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.InstanceTypeOfferings {
			offered[string(o.InstanceType)+" "+text(o.Location)] = true
		}
	}
	if !offered["m5.large us-east-1a"] {
		t.Error("m5.large is not offered in us-east-1a")
	}
	prices := 0
	for pages := awsec2.NewDescribeSpotPriceHistoryPaginator(a, &awsec2.DescribeSpotPriceHistoryInput{
		ProductDescriptions: []string{"Linux/UNIX"}, StartTime: aws.Time(time.Now()), MaxResults: aws.Int32(2000),
	}); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range page.SpotPriceHistory {
			prices++
			if !offered[string(p.InstanceType)+" "+text(p.AvailabilityZone)] {
				t.Errorf("%s has a spot price in %s, where it is not offered", p.InstanceType, text(p.AvailabilityZone))
			}
			if price, err := strconv.ParseFloat(text(p.SpotPrice), 64); err != nil || price <= 0 {
				t.Errorf("%s has the spot price %q", p.InstanceType, text(p.SpotPrice))
			}
		}
	}
	if prices < 1000 {
		t.Errorf("only %d spot prices", prices)
	}
}

func TestNetworkAndImages(t *testing.T) {
	a := newAccount(t)
	cluster := []types.Filter{{Name: aws.String("tag:karpenter.sh/discovery"), Values: []string{"prod"}}}
	subnets, err := a.DescribeSubnets(t.Context(), &awsec2.DescribeSubnetsInput{Filters: cluster})
	if err != nil {
		t.Fatal(err)
	}
	var zones []string
	for _, s := range subnets.Subnets {
		zones = append(zones, text(s.AvailabilityZone)+" "+text(s.AvailabilityZoneId))
		if aws.ToInt32(s.AvailableIpAddressCount) != 4091 {
			t.Errorf("subnet %s has %d addresses, want 4091", text(s.SubnetId), aws.ToInt32(s.AvailableIpAddressCount))
		}
	}
	if want := []string{"us-east-1a use1-az1", "us-east-1b use1-az2", "us-east-1c use1-az3"}; !slices.Equal(zones, want) {
		t.Errorf("zones are %q, want %q", zones, want)
	}
	groups, err := a.DescribeSecurityGroups(t.Context(), &awsec2.DescribeSecurityGroupsInput{Filters: cluster})
	if err != nil || len(groups.SecurityGroups) != 1 {
		t.Errorf("security groups of the cluster: %v, %v", groups, err)
	}
	available, err := a.DescribeAvailabilityZones(t.Context(), &awsec2.DescribeAvailabilityZonesInput{})
	if err != nil || len(available.AvailabilityZones) != 3 {
		t.Errorf("availability zones: %v, %v", available, err)
	}
	images, err := a.DescribeImages(t.Context(), &awsec2.DescribeImagesInput{
		Owners:  []string{"amazon"},
		Filters: []types.Filter{{Name: aws.String("name"), Values: []string{"amazon-eks-node-al2023-arm64-standard-1.36-*"}}},
	})
	if err != nil || len(images.Images) != 3 {
		t.Fatalf("images: %v, %v", images, err)
	}
	newest := slices.MaxFunc(images.Images, func(a, b types.Image) int {
		return slices.Compare([]string{text(a.CreationDate)}, []string{text(b.CreationDate)})
	})
	if text(newest.ImageId) != a.image("arm64") {
		t.Errorf("the newest image is %s, the recommended one %s", text(newest.ImageId), a.image("arm64"))
	}
	_, err = a.DescribeImages(t.Context(), &awsec2.DescribeImagesInput{ImageIds: []string{"ami-0123"}})
	wantCode(t, err, "InvalidAMIID.NotFound")
}

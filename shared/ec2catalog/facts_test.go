package ec2catalog

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/whittle-dev/whittle/shared/catalog"
)

func TestInfoKeepsWhatPlanningNeeds(t *testing.T) {
	for _, test := range []struct {
		name      string
		described types.InstanceTypeInfo
		want      catalog.InstanceTypeInfo
	}{
		{
			"nothing is known", types.InstanceTypeInfo{InstanceType: "x1.new"}, catalog.InstanceTypeInfo{InstanceType: "x1.new"},
		},
		{
			"parts without their details",
			types.InstanceTypeInfo{
				InstanceType: "x1.new", VCpuInfo: &types.VCpuInfo{}, MemoryInfo: &types.MemoryInfo{},
				ProcessorInfo: &types.ProcessorInfo{}, EbsInfo: &types.EbsInfo{},
				InstanceStorageInfo: &types.InstanceStorageInfo{}, NetworkInfo: &types.NetworkInfo{},
				GpuInfo:                  &types.GpuInfo{Gpus: []types.GpuDeviceInfo{{}}},
				InferenceAcceleratorInfo: &types.InferenceAcceleratorInfo{Accelerators: []types.InferenceDeviceInfo{{}}},
				NeuronInfo:               &types.NeuronInfo{NeuronDevices: []types.NeuronDeviceInfo{{}}},
			},
			catalog.InstanceTypeInfo{
				InstanceType: "x1.new", Gpus: []catalog.Device{{}}, InferenceAccelerators: []catalog.Device{{}},
				NeuronDevices: []catalog.Device{{}},
			},
		},
		{
			"a common type",
			types.InstanceTypeInfo{
				InstanceType: "m7g.large", Hypervisor: types.InstanceTypeHypervisorNitro,
				SupportedUsageClasses: []types.UsageClassType{"on-demand", "spot"},
				NitroEnclavesSupport:  types.NitroEnclavesSupportSupported,
				VCpuInfo:              &types.VCpuInfo{DefaultVCpus: aws.Int32(2)},
				MemoryInfo:            &types.MemoryInfo{SizeInMiB: aws.Int64(8192)},
				ProcessorInfo: &types.ProcessorInfo{
					Manufacturer: aws.String("AWS"), SupportedArchitectures: []types.ArchitectureType{"arm64"},
					SustainedClockSpeedInGhz: aws.Float64(2.6),
				},
				EbsInfo: &types.EbsInfo{
					EbsOptimizedSupport:   types.EbsOptimizedSupportDefault,
					EbsOptimizedInfo:      &types.EbsOptimizedInfo{MaximumBandwidthInMbps: aws.Int32(10000)},
					MaximumEbsAttachments: aws.Int32(27), AttachmentLimitType: types.AttachmentLimitTypeShared,
				},
				NetworkInfo: &types.NetworkInfo{
					MaximumNetworkInterfaces: aws.Int32(3), MaximumNetworkCards: aws.Int32(1),
					Ipv4AddressesPerInterface: aws.Int32(10), EnaSupport: types.EnaSupportRequired,
					EncryptionInTransitSupported: aws.Bool(true), DefaultNetworkCardIndex: aws.Int32(0),
					NetworkCards: []types.NetworkCardInfo{
						{
							NetworkCardIndex: aws.Int32(0), MaximumNetworkInterfaces: aws.Int32(3),
							BaselineBandwidthInGbps: aws.Float64(0.937),
						},
					},
				},
			},
			catalog.InstanceTypeInfo{
				InstanceType: "m7g.large", Hypervisor: "nitro", SupportedUsageClasses: []string{"on-demand", "spot"},
				NitroEnclavesSupport: true,
				DefaultVCpus:         2, SizeInMiB: 8192, Manufacturer: "AWS", SupportedArchitectures: []string{"arm64"},
				SustainedClockSpeedInGhz: 2.6,
				EbsOptimizedSupport:      "default", MaximumBandwidthInMbps: 10000,
				MaximumEbsAttachments: 27, AttachmentLimitType: "shared",
				Network: catalog.NetworkInfo{
					MaximumNetworkInterfaces: 3, MaximumNetworkCards: 1, Ipv4AddressesPerInterface: 10, EncryptionInTransit: true,
					EnaSupport: "required", BaselineBandwidthInMbps: 937,
				},
			},
		},
		{
			"pods' addresses are on the default card, the bandwidth on all",
			types.InstanceTypeInfo{
				InstanceType: "p5.48xlarge",
				NetworkInfo: &types.NetworkInfo{
					MaximumNetworkInterfaces: aws.Int32(64), MaximumNetworkCards: aws.Int32(2), DefaultNetworkCardIndex: aws.Int32(1),
					EfaInfo: &types.EfaInfo{MaximumEfaInterfaces: aws.Int32(32)},
					NetworkCards: []types.NetworkCardInfo{
						{
							NetworkCardIndex: aws.Int32(0), MaximumNetworkInterfaces: aws.Int32(2),
							BaselineBandwidthInGbps: aws.Float64(100),
						},
						{
							NetworkCardIndex: aws.Int32(1), MaximumNetworkInterfaces: aws.Int32(15),
							BaselineBandwidthInGbps: aws.Float64(100),
						},
					},
				},
				GpuInfo: &types.GpuInfo{Gpus: []types.GpuDeviceInfo{
					{
						Name: aws.String("H100"), Manufacturer: aws.String("NVIDIA"), Count: aws.Int32(8),
						MemoryInfo: &types.GpuDeviceMemoryInfo{SizeInMiB: aws.Int32(81920)},
					},
				}},
				InstanceStorageInfo: &types.InstanceStorageInfo{
					TotalSizeInGB: aws.Int64(30400), NvmeSupport: types.EphemeralNvmeSupportRequired,
				},
			},
			catalog.InstanceTypeInfo{
				InstanceType: "p5.48xlarge", TotalSizeInGB: 30400, NvmeSupport: "required",
				Network: catalog.NetworkInfo{
					MaximumNetworkInterfaces: 15, MaximumNetworkCards: 2, CardInterfaces: []int{2, 15}, MaximumEfaInterfaces: 32,
					BaselineBandwidthInMbps: 200000,
				},
				Gpus: []catalog.Device{{Name: "H100", Manufacturer: "NVIDIA", Count: 8, MemoryInMiB: 81920}},
			},
		},
		{
			"accelerators",
			types.InstanceTypeInfo{
				InstanceType: "inf2.48xlarge", BareMetal: aws.Bool(true),
				InferenceAcceleratorInfo: &types.InferenceAcceleratorInfo{
					Accelerators: []types.InferenceDeviceInfo{
						{Name: aws.String("Inferentia2"), Manufacturer: aws.String("AWS"), Count: aws.Int32(12)},
					},
				},
				NeuronInfo: &types.NeuronInfo{NeuronDevices: []types.NeuronDeviceInfo{
					{
						Name: aws.String("Inferentia2"), Count: aws.Int32(12), CoreInfo: &types.NeuronDeviceCoreInfo{Count: aws.Int32(2)},
					},
				}},
			},
			catalog.InstanceTypeInfo{
				InstanceType: "inf2.48xlarge", BareMetal: true,
				InferenceAccelerators: []catalog.Device{{Name: "Inferentia2", Manufacturer: "AWS", Count: 12}},
				NeuronDevices:         []catalog.Device{{Name: "Inferentia2", Count: 12, CoreCount: 2}},
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := info(&test.described); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// priced returns a price list item with one price dimension.
func priced(unit, currency, amount string) string {
	return `{"product": {"sku": "ABC", "attributes": {"instanceType": "m7g.large"}},
		"terms": {"OnDemand": {"ABC.1": {"priceDimensions": {"ABC.1.2":
		{"unit": "` + unit + `", "pricePerUnit": {"` + currency + `": "` + amount + `"}}}}}}}`
}

func TestParsePrice(t *testing.T) {
	for _, test := range []struct {
		name, text, instanceType string
		price                    float64
		want                     string // in the error
	}{
		{"a price", priced("Hrs", "USD", "0.0816000000"), "m7g.large", 0.0816, ""},
		{"free", priced("Hrs", "USD", "0.0000000000"), "m7g.large", 0, ""},
		{"not by the hour", priced("Quantity", "USD", "5"), "m7g.large", 0, ""},
		{"in another currency", priced("Hrs", "CNY", "0.5"), "m7g.large", 0, ""},
		{
			"reserved only", `{"product": {"attributes": {"instanceType": "m7g.large"}}, "terms": {"Reserved": {}}}`,
			"m7g.large", 0, "",
		},
		{"no terms", `{"product": {"attributes": {"instanceType": "m7g.large"}}}`, "m7g.large", 0, ""},
		{"no product", `{}`, "", 0, ""},
		{"no number", priced("Hrs", "USD", "free"), "", 0, `product ABC (m7g.large): pricePerUnit.USD "free"`},
		{"nothing", priced("Hrs", "USD", ""), "", 0, `pricePerUnit.USD ""`},
		{"negative", priced("Hrs", "USD", "-1"), "", 0, `pricePerUnit.USD "-1"`},
		{"infinite", priced("Hrs", "USD", "Inf"), "", 0, `pricePerUnit.USD "Inf"`},
		{"not a number", priced("Hrs", "USD", "NaN"), "", 0, `pricePerUnit.USD "NaN"`},
		{"not JSON", `<price/>`, "", 0, "not the JSON that is documented"},
		{"of another shape", `{"terms": {"OnDemand": []}}`, "", 0, "not the JSON that is documented"},
		{"cut off", priced("Hrs", "USD", "1")[:50], "", 0, "not the JSON that is documented"},
	} {
		t.Run(test.name, func(t *testing.T) {
			instanceType, price, err := parsePrice(test.text, "USD")
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error is %v, want %q", err, test.want)
				}
				return
			}
			if err != nil || instanceType != test.instanceType || price != test.price {
				t.Errorf("%q, %v, %v", instanceType, price, err)
			}
		})
	}
}

func TestPricesInChinaAreInYuan(t *testing.T) {
	if name, price, err := parsePrice(priced("Hrs", "CNY", "0.5"), currencyOf("cn-north-1")); name != "m7g.large" ||
		price != 0.5 || err != nil {
		t.Errorf("%q, %v, %v", name, price, err)
	}
}

func FuzzParsePrice(f *testing.F) {
	f.Add(priced("Hrs", "USD", "0.0816"))
	f.Add(priced("Hrs", "USD", "1e999"))
	f.Add(`{"terms": {"OnDemand": {"a": {"priceDimensions": null}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if _, price, err := parsePrice(text, "USD"); err == nil && (price < 0 || math.IsInf(price, 0) || math.IsNaN(price)) {
			t.Errorf("%q has the price %v", text, price)
		}
	})
}

func TestPriceListOfRegions(t *testing.T) {
	for region, want := range map[string]string{
		"us-east-1": "us-east-1", "us-west-2": "us-east-1", "ca-central-1": "us-east-1", "eu-west-3": "eu-central-1",
		"ap-northeast-1": "ap-south-1", "cn-north-1": "cn-northwest-1",
		"il-central-1": "us-east-1", "mx-central-1": "us-east-1",
		// These partitions have no price list.
		"us-gov-west-1": "", "us-gov-east-1": "", "us-iso-east-1": "", "us-isob-east-1": "", "eu-isoe-west-1": "",
		"eusc-de-east-1": "",
	} {
		if got := priceListRegion(region); got != want {
			t.Errorf("%s asks %q, want %q", region, got, want)
		}
	}
}

// volume returns a price list item of a volume's usage.
func volume(usage, unit, currency, amount string) string {
	return `{"product": {"sku": "ABC", "attributes": {"usagetype": "` + usage + `"}},
		"terms": {"OnDemand": {"ABC.1": {"priceDimensions": {"ABC.1.2":
		{"unit": "` + unit + `", "pricePerUnit": {"` + currency + `": "` + amount + `"}}}}}}}`
}

func TestParseVolumePrice(t *testing.T) {
	for _, test := range []struct {
		name, text, usage string
		price             float64
		want              string // in the error
	}{
		{"us-east-1", volume("EBS:VolumeUsage.gp3", "GB-Mo", "USD", "0.08"), "VolumeUsage.gp3", 0.08, ""},
		{"another region", volume("EUC1-EBS:VolumeUsage.gp3", "GB-Mo", "USD", "0.0952"), "VolumeUsage.gp3", 0.0952, ""},
		{"another spelling", volume("EBS:VolumeUsage.io2", "GB-month", "USD", "0.125"), "VolumeUsage.io2", 0.125, ""},
		{"operations", volume("EBS:VolumeP-IOPS.piops", "IOPS-Mo", "USD", "0.065"), "VolumeP-IOPS.piops", 0.065, ""},
		{"a GiB has 1,024 MiB", volume("EBS:VolumeP-Throughput.gp3", "GiBps-mo", "USD", "40.96"),
			"VolumeP-Throughput.gp3", 0.04, ""},
		{"requests", volume("EBS:VolumeIOUsage", "IOs", "USD", "0.00000005"), "VolumeIOUsage", 0, ""},
		{"in another currency", volume("EBS:VolumeUsage", "GB-Mo", "CNY", "0.5"), "VolumeUsage", 0, ""},
		{"a snapshot", volume("EBS:SnapshotUsage", "GB-Mo", "USD", "0.05"), "", 0, ""},
		{"an instance", priced("Hrs", "USD", "0.1"), "", 0, ""},
		{"no number", volume("EBS:VolumeUsage", "GB-Mo", "USD", "free"), "", 0,
			`product ABC (EBS:VolumeUsage): pricePerUnit.USD "free"`},
		{"not JSON", `<price/>`, "", 0, "not the JSON that is documented"},
	} {
		t.Run(test.name, func(t *testing.T) {
			usage, price, err := parseVolumePrice(test.text, "USD")
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error is %v, want %q", err, test.want)
				}
				return
			}
			if err != nil || usage != test.usage || math.Abs(price-test.price) > 1e-12 {
				t.Errorf("%q, %v, %v", usage, price, err)
			}
		})
	}
}

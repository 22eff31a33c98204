package catalog_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
)

// TestVolumesOfNodes resolves types of each kind of limit for classes with disks and interfaces.
func TestVolumesOfNodes(t *testing.T) {
	devices := func(n int) api.EC2NodeClassSpec {
		return api.EC2NodeClassSpec{BlockDeviceMappings: make([]*api.BlockDeviceMapping, n)}
	}
	for _, test := range []struct {
		name, kind string
		most       int
		spec       api.EC2NodeClassSpec
		want       int
	}{
		{"not known", "", 0, api.EC2NodeClassSpec{}, 0},
		{"shared with interfaces", "shared", 27, api.EC2NodeClassSpec{}, 25},
		{"dedicated", "dedicated", 32, api.EC2NodeClassSpec{}, 31},
		{"two disks", "dedicated", 32, devices(2), 30},
		{"Bottlerocket has two", "shared", 27, api.EC2NodeClassSpec{AMIFamily: aws.String(api.AMIFamilyBottlerocket)}, 24},
		{"interfaces of the class", "shared", 27,
			api.EC2NodeClassSpec{NetworkInterfaces: make([]api.NetworkInterface, 4)}, 23},
		{"few", "shared", 2, devices(3), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			facts := catalogOf(test.most, test.kind)
			class := &api.EC2NodeClass{Spec: test.spec}
			class.Status.AMIs = []api.AMI{{ID: "ami-1"}}
			class.Status.Subnets = []api.Subnet{{ID: "subnet-1", Zone: "us-east-1a"}}
			types := catalog.Resolve(facts, class, catalog.Observed{}, time.Now())
			if len(types) != 1 || types[0].Volumes != test.want {
				t.Errorf("%+v, want %d volumes", types, test.want)
			}
		})
	}
}

// catalogOf is a catalogue of one type that attaches so many volumes.
func catalogOf(most int, kind string) *catalog.Catalog {
	return &catalog.Catalog{InstanceTypes: []catalog.InstanceTypeInfo{{
		InstanceType: "m5.large", DefaultVCpus: 2, SizeInMiB: 8192, SupportedArchitectures: []string{"x86_64"},
		SupportedUsageClasses: []string{"on-demand"}, Hypervisor: "nitro", OnDemandPrice: 0.1,
		Zones: []string{"us-east-1a"}, MaximumEbsAttachments: most, AttachmentLimitType: kind,
		Network: catalog.NetworkInfo{
			MaximumNetworkInterfaces: 3, Ipv4AddressesPerInterface: 10, CardInterfaces: []int{15, 15}},
	}}}
}

package fleet

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/nodeclass"
)

// TestTemplateDataSaysItInEC2sWords: what a content says, by what the request has
// of it in JSON.
func TestTemplateDataSaysItInEC2sWords(t *testing.T) {
	ipv6, enabled, count, timeout := "disabled", "enabled", int32(2), int32(90)
	options := &api.MetadataOptions{HTTPProtocolIPv6: &ipv6}
	for _, test := range []struct {
		name, region string
		content      nodeclass.LaunchTemplate
		has, hasNot  []string
	}{
		{"nothing", "us-east-1", nodeclass.LaunchTemplate{SecurityGroups: []string{"sg-1"}, MetadataOptions: options},
			[]string{`"SecurityGroupIds":["sg-1"]`, `"NetworkInterfaces":null`, `"CapacityReservationPreference":"none"`,
				`"Placement":null`, `"HttpProtocolIpv6":"disabled"`,
				`"InstanceMetadataTags":"disabled"`, `"ResourceType":"network-interface"`, `"EnclaveOptions":null`,
				`"InstanceMarketOptions":null`, `"CpuOptions":null`},
			[]string{"spot-instances-request"}},
		{
			"an isolated region", "us-isob-east-1", nodeclass.LaunchTemplate{MetadataOptions: options},
			[]string{`"HttpProtocolIpv6":""`}, nil,
		},
		{
			"a region of the government", "us-gov-west-1", nodeclass.LaunchTemplate{MetadataOptions: options},
			[]string{`"HttpProtocolIpv6":"disabled"`}, nil,
		},
		{"spot", "us-east-1", nodeclass.LaunchTemplate{SpotRequest: true, Tags: map[string]string{"a": "b"}},
			[]string{`"ResourceType":"spot-instances-request"`}, nil},
		{"a reservation", "us-east-1", nodeclass.LaunchTemplate{ReservationID: "cr-1", ReservationType: "default"},
			[]string{`"CapacityReservationPreference":"capacity-reservations-only"`, `"CapacityReservationId":"cr-1"`,
				`"InstanceMarketOptions":null`}, nil},
		{
			"a capacity block", "us-east-1",
			nodeclass.LaunchTemplate{ReservationID: "cr-1", ReservationType: "capacity-block"},
			[]string{`"MarketType":"capacity-block"`}, nil,
		},
		{"an interruptible reservation", "us-east-1", nodeclass.LaunchTemplate{ReservationID: "cr-1", Interruptible: true},
			[]string{`"MarketType":"interruptible-capacity-reservation"`}, nil},
		{"placed", "us-east-1", nodeclass.LaunchTemplate{Tenancy: "dedicated", PlacementGroup: "pg-1", Partition: 2},
			[]string{`"Tenancy":"dedicated"`, `"GroupId":"pg-1"`, `"PartitionNumber":2`}, nil},
		{"enclaves and processors", "us-east-1", nodeclass.LaunchTemplate{
			Enclaves: true, CPUOptions: &api.CPUOptions{NestedVirtualization: &enabled},
		},
			[]string{`"EnclaveOptions":{"Enabled":true}`, `"NestedVirtualization":"enabled"`}, nil},
		{"interfaces", "us-east-1", nodeclass.LaunchTemplate{SecurityGroups: []string{"sg-1"},
			NetworkInterfaces: []nodeclass.NetworkInterface{
				{Type: "interface", PrimaryIPv6: true, IPv6Prefixes: &count,
					ConnectionTracking: &api.ConnectionTracking{UDPTimeout: &timeout}},
				{Type: "efa-only", NetworkCard: 1, Device: 1}}},
			[]string{`"SecurityGroupIds":null`, `"Groups":["sg-1"]`, `"PrimaryIpv6":true`, `"Ipv6AddressCount":1`,
				`"Ipv6PrefixCount":2`, `"UdpTimeout":90`, `"InterfaceType":"efa-only"`, `"NetworkCardIndex":1`}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			client := New(ec2.New(ec2.Options{Region: test.region}), "prod")
			text, err := json.Marshal(client.templateData(test.content))
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range test.has {
				if !strings.Contains(string(text), part) {
					t.Errorf("no %s in %s", part, text)
				}
			}
			for _, part := range test.hasNot {
				if strings.Contains(string(text), part) {
					t.Errorf("%s in %s", part, text)
				}
			}
		})
	}
}

func TestDisksKeepAllTheirFields(t *testing.T) {
	rate := int32(200)
	text, err := json.Marshal(
		blockDevices([]*api.BlockDeviceMapping{{DeviceName: aws.String("/dev/xvdb"), EBS: &api.BlockDevice{
			SnapshotID: aws.String("snap-1"), KMSKeyID: aws.String("alias/key"), VolumeInitializationRate: &rate,
			DeleteOnTermination: aws.Bool(false),
			Encrypted: aws.Bool(
				true,
			), VolumeType: aws.String("io2"), IOPS: aws.Int64(5000), Throughput: aws.Int64(300),
		}}}),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"DeviceName":"/dev/xvdb"`, `"SnapshotId":"snap-1"`, `"KmsKeyId":"alias/key"`,
		`"VolumeInitializationRate":200`, `"DeleteOnTermination":false`,
		`"Encrypted":true`, `"VolumeType":"io2"`, `"Iops":5000`, `"Throughput":300`, `"VolumeSize":null`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
}

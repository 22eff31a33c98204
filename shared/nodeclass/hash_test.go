package nodeclass

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/mitchellh/hashstructure/v2"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
)

func pointer[T any](value T) *T { return &value }

// hashed is the class that Karpenter's own published hashes are of.
func hashed() *api.EC2NodeClass {
	c := &api.EC2NodeClass{}
	c.Spec = api.EC2NodeClassSpec{
		Role: "role-1", Tags: map[string]string{"keyTag-1": "valueTag-1", "keyTag-2": "valueTag-2"},
		Context: pointer("fake-context"), UserData: pointer("userdata-test-1"),
		DetailedMonitoring: pointer(false), AssociatePublicIPAddress: pointer(false),
		MetadataOptions: &api.MetadataOptions{
			HTTPEndpoint: pointer("disabled"), HTTPProtocolIPv6: pointer("disabled"),
			HTTPPutResponseHopLimit: pointer(int64(1)), HTTPTokens: pointer("optional"),
		},
		BlockDeviceMappings: []*api.BlockDeviceMapping{{DeviceName: pointer("map-device-1"), EBS: &api.BlockDevice{
			DeleteOnTermination: pointer(false), Encrypted: pointer(false), IOPS: pointer(int64(0)),
			Throughput: pointer(int64(0)), KMSKeyID: pointer("fakeKMSKeyID"),
			SnapshotID: pointer("fakeSnapshot"), VolumeSize: resource.NewScaledQuantity(2, resource.Giga),
			VolumeType: pointer("standard"),
		}}, {DeviceName: pointer("map-device-2")}},
	}
	return c
}

// TestTheSpecHashesAsKarpenters holds the spec's part of the hash, by its fields,
// their order and their tags, to values that Karpenter publishes for an earlier
// version, over the spec and the AMI family alone.
func TestTheSpecHashesAsKarpenters(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*api.EC2NodeClassSpec)
		want   uint64
	}{
		{"as it is", func(*api.EC2NodeClassSpec) {}, 4950366118253097694},
		{"user data", func(s *api.EC2NodeClassSpec) { s.UserData = pointer("userdata-test-2") }, 9034828637236670345},
		{"context", func(s *api.EC2NodeClassSpec) { s.Context = pointer("context-2") }, 13953931752662869657},
		{"monitoring", func(s *api.EC2NodeClassSpec) { s.DetailedMonitoring = pointer(true) }, 14187487647319890991},
		{
			"instance store",
			func(s *api.EC2NodeClassSpec) { s.InstanceStorePolicy = pointer(api.InstanceStorePolicyRAID0) },
			4160809219257698490,
		},
		{"public address", func(s *api.EC2NodeClassSpec) { s.AssociatePublicIPAddress = pointer(true) }, 4469320567057431454},
		{"volume size", func(s *api.EC2NodeClassSpec) {
			s.BlockDeviceMappings[0].EBS.VolumeSize = resource.NewScaledQuantity(10, resource.Giga)
		}, 5906178522470964189},
		{
			"instance profile",
			func(s *api.EC2NodeClassSpec) { s.Role, s.InstanceProfile = "", pointer("test-instance-profile") },
			5855570904022890593,
		},
		{"selectors", func(s *api.EC2NodeClassSpec) {
			s.SubnetSelectorTerms = []api.SubnetSelectorTerm{{ID: "subnet-1"}}
			s.SecurityGroupSelectorTerms = []api.SecurityGroupSelectorTerm{{ID: "sg-1"}}
			s.AMISelectorTerms = []api.AMISelectorTerm{{ID: "ami-1"}}
			s.CapacityReservationSelectorTerms = []api.CapacityReservationSelectorTerm{{ID: "cr-1"}}
		}, 4950366118253097694},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := hashed()
			test.change(&c.Spec)
			got, err := hashstructure.Hash([]any{c.Spec, api.AMIFamilyCustom}, hashstructure.FormatV2, hashOptions())
			if err != nil || got != test.want {
				t.Errorf("%d, %v; want %d", got, err, test.want)
			}
		})
	}
}

func TestHashChangesWithWhatANodeIsLaunchedWith(t *testing.T) {
	authority := []byte("PEM")
	hash := func(c *api.EC2NodeClass, authority []byte) string {
		t.Helper()
		text, err := Hash(c, authority)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
		return text
	}
	base := hash(hashed(), authority)
	for name, change := range map[string]func(*api.EC2NodeClass){
		"the family":    func(c *api.EC2NodeClass) { c.Spec.AMIFamily = pointer("AL2023") },
		"the alias":     func(c *api.EC2NodeClass) { c.Spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: "al2023@latest"}} },
		"the kubelet":   func(c *api.EC2NodeClass) { c.Spec.Kubelet = &api.KubeletConfiguration{MaxPods: pointer(int32(9))} },
		"the interface": func(c *api.EC2NodeClass) { c.Spec.NetworkInterfaces = []api.NetworkInterface{{DeviceIndex: 1}} },
		"the group":     func(c *api.EC2NodeClass) { c.Spec.PlacementGroupSelector = &api.PlacementGroupSelector{Name: "g"} },
		"tracking": func(c *api.EC2NodeClass) {
			c.Spec.ConnectionTracking = &api.ConnectionTracking{UDPTimeout: pointer(int32(30))}
		},
		"enclaves": func(c *api.EC2NodeClass) { c.Spec.EnclaveOptions = &api.EnclaveOptions{Enabled: true} },
		"processors": func(c *api.EC2NodeClass) {
			c.Spec.CPUOptions = &api.CPUOptions{NestedVirtualization: pointer("enabled")}
		},
		"tags": func(c *api.EC2NodeClass) { c.Spec.Tags["keyTag-1"] = "other" },
	} {
		c := hashed()
		if change(c); hash(c, authority) == base {
			t.Errorf("a change of %s is no drift", name)
		}
	}
	if hash(hashed(), []byte("another")) == base {
		t.Error("another certificate authority is no drift")
	}
	for name, change := range map[string]func(*api.EC2NodeClass){
		"prefixes":          func(c *api.EC2NodeClass) { c.Spec.IPPrefixCount = pointer(int32(3)) },
		"the order":         func(c *api.EC2NodeClass) { d := c.Spec.BlockDeviceMappings; d[0], d[1] = d[1], d[0] },
		"the status":        func(c *api.EC2NodeClass) { c.Status.InstanceProfile = "p" },
		"the family's name": func(c *api.EC2NodeClass) { c.Spec.AMIFamily = pointer("Custom") },
	} {
		c := hashed()
		if change(c); hash(c, authority) != base {
			t.Errorf("a change of %s is drift", name)
		}
	}
	// What an alias implies and amiFamily says are the same.
	implied, said := alias("al2023@latest"), alias("al2023@latest")
	said.Spec.AMIFamily = pointer("AL2023")
	if hash(implied, authority) != hash(said, authority) {
		t.Error("to write what the alias implies is drift")
	}
	// The same settings of the kubelet, in another order.
	one, other := hashed(), hashed()
	one.Spec.Kubelet = kubeletOf(t, `{"z": {"a": 2, "b": 1}, "maxPods": 20, "evictionSoftGracePeriod": {"a": "90s"}}`)
	other.Spec.Kubelet = kubeletOf(t, `{"evictionSoftGracePeriod":{"a":"90s"},"maxPods":20,"z":{"a":2,"b":1}}`)
	if hash(one, authority) != hash(other, authority) {
		t.Error("the order of the kubelet's settings is drift")
	}
	// Empty settings are none. A setting that says the default is one.
	for text, same := range map[string]bool{`{}`: true, `{"kubeReserved": {}}`: false, `{"maxPods": 0}`: false} {
		c := hashed()
		c.Spec.Kubelet = kubeletOf(t, text)
		if (hash(c, authority) == base) != same {
			t.Errorf("kubelet %s hashes as none: %t", text, !same)
		}
	}
}

func kubeletOf(t *testing.T, text string) *api.KubeletConfiguration {
	t.Helper()
	read := &api.KubeletConfiguration{}
	if err := json.Unmarshal([]byte(text), read); err != nil {
		t.Fatal(err)
	}
	return read
}

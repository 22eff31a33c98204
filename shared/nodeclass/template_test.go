package nodeclass

import (
	"strings"
	"testing"

	"github.com/whittle-dev/whittle/shared/api"
)

func TestEqualContentsShareALaunchTemplate(t *testing.T) {
	image := api.AMI{ID: "ami-1"}
	resolved := func(change func(*api.EC2NodeClass)) *api.EC2NodeClass {
		made := class("")
		made.Status.SecurityGroups = []api.SecurityGroup{{ID: "sg-2"}, {ID: "sg-1"}}
		made.Status.InstanceProfile = "profile"
		change(made)
		return made
	}
	same := resolved(func(*api.EC2NodeClass) {})
	first, err := Template(same, image, join(), Variation{}, map[string]string{"a": "b"})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first.Name, "karpenter.k8s.aws/") || len(first.Name) > 128 {
		t.Errorf("name %q: EC2 takes 3 to 128 characters", first.Name)
	}
	again, _ := Template(resolved(func(c *api.EC2NodeClass) {
		c.Status.SecurityGroups = []api.SecurityGroup{{ID: "sg-1"}, {ID: "sg-2"}}
		c.ResourceVersion = "7"
	}), image, join(), Variation{}, map[string]string{"a": "b"})
	if again.Name != first.Name {
		t.Error("the order of security groups made another template")
	}
	yes := true
	for name, change := range map[string]func(*api.EC2NodeClass){
		"monitoring": func(c *api.EC2NodeClass) { c.Spec.DetailedMonitoring = &yes },
		"profile":    func(c *api.EC2NodeClass) { c.Status.InstanceProfile = "other" },
		"address":    func(c *api.EC2NodeClass) { c.Spec.AssociatePublicIPAddress = &yes },
		"groups":     func(c *api.EC2NodeClass) { c.Status.SecurityGroups = nil },
	} {
		other, err := Template(resolved(change), image, join(), Variation{}, map[string]string{"a": "b"})
		if err != nil || other.Name == first.Name {
			t.Errorf("a change of %s did not make another template: %v", name, err)
		}
	}
}

func TestUserDataThatIsTooLongIsRefused(t *testing.T) {
	_, err := Template(class(strings.Repeat("#", MaximumUserData)), api.AMI{ID: "ami-1"}, join(), Variation{}, nil)
	if err == nil || !strings.Contains(err.Error(), "shorten spec.userData") {
		t.Errorf("%v", err)
	}
}

func TestWhatALaunchVariesIsInItsTemplate(t *testing.T) {
	prefixes := int32(2)
	yes := true
	enabled := "enabled"
	timeout := int32(90)
	tracking := &api.ConnectionTracking{UDPStreamTimeout: &timeout}
	ordinary := func(*api.EC2NodeClass) {}
	grouped := func(c *api.EC2NodeClass) {
		c.Spec.PlacementGroupSelector = &api.PlacementGroupSelector{Name: "group"}
		c.Status.PlacementGroup = &api.PlacementGroup{ID: "pg-1", Strategy: "partition", PartitionCount: 3}
	}
	names := map[string]string{}
	for _, test := range []struct {
		name      string
		class     func(*api.EC2NodeClass)
		variation Variation
		ipv6      bool
		want      func(LaunchTemplate) bool
	}{
		{"nothing", ordinary, Variation{}, false, func(l LaunchTemplate) bool {
			return len(l.NetworkInterfaces) == 0 && l.PlacementGroup == "" && l.ReservationID == "" && l.Tenancy == "" &&
				!l.Enclaves && !l.SpotRequest
		}},
		{"a reservation", ordinary, Variation{ReservationID: "cr-1", ReservationType: "default"}, false,
			func(l LaunchTemplate) bool { return l.ReservationID == "cr-1" && !l.Interruptible }},
		{"a capacity block", ordinary, Variation{ReservationID: "cr-1", ReservationType: "capacity-block"}, false,
			func(l LaunchTemplate) bool { return l.ReservationType == "capacity-block" }},
		{
			"an interruptible reservation", ordinary, Variation{ReservationID: "cr-1", Interruptible: true}, false,
			func(l LaunchTemplate) bool { return l.Interruptible },
		},
		{"enclaves", ordinary, Variation{Enclaves: true}, false, func(l LaunchTemplate) bool { return l.Enclaves }},
		{
			"dedicated", ordinary, Variation{Tenancy: api.TenancyDedicated}, false,
			func(l LaunchTemplate) bool { return l.Tenancy == "dedicated" },
		},
		{"spot", ordinary, Variation{SpotRequest: true}, false, func(l LaunchTemplate) bool { return l.SpotRequest }},
		{"one EFA with a public address", func(
			c *api.EC2NodeClass,
		) {
			c.Spec.AssociatePublicIPAddress = &yes
		}, Variation{Interfaces: 1}, false, func(l LaunchTemplate) bool {
			return len(l.NetworkInterfaces) == 1 && l.NetworkInterfaces[0].Type == "efa" && *l.NetworkInterfaces[0].PublicAddress
		}},
		{"four EFAs", func(
			c *api.EC2NodeClass,
		) {
			c.Spec.IPPrefixCount = &prefixes
		}, Variation{Interfaces: 4}, false, func(l LaunchTemplate) bool {
			first, last := l.NetworkInterfaces[0], l.NetworkInterfaces[3]
			return len(l.NetworkInterfaces) == 4 && first.Device == 0 && first.NetworkCard == 0 && *first.IPv4Prefixes == 2 &&
				first.PublicAddress == nil &&
				last.NetworkCard == 3 && last.Device == 1 && last.IPv4Prefixes == nil
		}},
		{"the class's interfaces", func(c *api.EC2NodeClass) {
			c.Spec.ConnectionTracking = tracking
			c.Spec.NetworkInterfaces = []api.NetworkInterface{
				{InterfaceType: "interface"}, {NetworkCardIndex: 1, DeviceIndex: 1, InterfaceType: "efa-only"},
			}
		}, Variation{Interfaces: 4}, false, func(l LaunchTemplate) bool {
			return len(l.NetworkInterfaces) == 2 && l.NetworkInterfaces[0].ConnectionTracking == tracking &&
				l.NetworkInterfaces[1].Type == "efa-only" && l.NetworkInterfaces[1].ConnectionTracking == nil
		}},
		{"prefixes", func(c *api.EC2NodeClass) { c.Spec.IPPrefixCount = &prefixes }, Variation{}, false,
			func(l LaunchTemplate) bool {
				return *l.NetworkInterfaces[0].IPv4Prefixes == 2 && l.NetworkInterfaces[0].IPv6Prefixes == nil
			}},
		{"prefixes of IPv6", func(c *api.EC2NodeClass) { c.Spec.IPPrefixCount = &prefixes }, Variation{}, true,
			func(l LaunchTemplate) bool {
				return *l.NetworkInterfaces[0].IPv6Prefixes == 2 && l.NetworkInterfaces[0].IPv4Prefixes == nil &&
					l.NetworkInterfaces[0].PrimaryIPv6
			}},
		{"IPv6", ordinary, Variation{}, true, func(l LaunchTemplate) bool {
			return len(l.NetworkInterfaces) == 1 && l.NetworkInterfaces[0].PrimaryIPv6
		}},
		{"enclaves of the class", func(c *api.EC2NodeClass) {
			c.Spec.EnclaveOptions, c.Spec.DetailedMonitoring = &api.EnclaveOptions{Enabled: true}, &yes
		}, Variation{}, false, func(l LaunchTemplate) bool { return l.Enclaves }},
		{"nested virtualization", func(
			c *api.EC2NodeClass,
		) {
			c.Spec.CPUOptions = &api.CPUOptions{NestedVirtualization: &enabled}
		}, Variation{}, false,
			func(l LaunchTemplate) bool { return *l.CPUOptions.NestedVirtualization == "enabled" }},
		{
			"a placement group", grouped, Variation{}, false,
			func(l LaunchTemplate) bool { return l.PlacementGroup == "pg-1" && l.Partition == 0 },
		},
		{
			"a partition", grouped, Variation{Partition: 3}, false,
			func(l LaunchTemplate) bool { return l.PlacementGroup == "pg-1" && l.Partition == 3 },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			how := join()
			if test.ipv6 {
				how.Cluster.ServiceCIDR = "fd12:3456::/108"
			}
			made, err := Template(class("", test.class), api.AMI{ID: "ami-1"}, how, test.variation, nil)
			if err != nil || !test.want(made) {
				t.Errorf("%+v, %v", made, err)
			}
			if other := names[made.Name]; other != "" {
				t.Errorf("shares its template with %s", other)
			}
			names[made.Name] = test.name
		})
	}
	for name, change := range map[string]func(*api.EC2NodeClass){
		"a group that is not resolved": func(c *api.EC2NodeClass) { c.Spec.PlacementGroupSelector = &api.PlacementGroupSelector{Name: "group"} },
		"a partition without a group":  ordinary,
		"a partition too many":         func(c *api.EC2NodeClass) { grouped(c); c.Status.PlacementGroup.PartitionCount = 2 },
	} {
		if _, err := Template(class("", change), api.AMI{ID: "ami-1"}, join(), Variation{Partition: 3}, nil); err == nil ||
			!strings.Contains(err.Error(), `ec2nodeclass "default"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	public := class("", func(c *api.EC2NodeClass) { c.Spec.AssociatePublicIPAddress = &yes })
	if _, err := Template(public, api.AMI{ID: "ami-1"}, join(), Variation{Interfaces: 4}, nil); err == nil ||
		!strings.Contains(err.Error(), "spec.associatePublicIPAddress") {
		t.Errorf("four EFAs with a public address: %v", err)
	}
}

func TestTheDisksOfEachFamily(t *testing.T) {
	for name, want := range map[string]string{
		"AL2": "/dev/xvda 20Gi", "AL2023": "/dev/xvda 20Gi", "Bottlerocket": "/dev/xvda 6Gi, /dev/xvdb 20Gi",
		"Windows2019": "/dev/sda1 50Gi", "Windows2022": "/dev/sda1 50Gi", "Windows2025": "/dev/sda1 50Gi", "Custom": "",
	} {
		var got []string
		for _, device := range BlockDevices(class("", family(name))) {
			if !*device.EBS.Encrypted || *device.EBS.VolumeType != "gp3" {
				t.Errorf("%s: %+v", name, device.EBS)
			}
			got = append(got, *device.DeviceName+" "+device.EBS.VolumeSize.String())
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
}

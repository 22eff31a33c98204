package instancetypes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	karpenteraws "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/aws/karpenter-provider-aws/pkg/operator/options"
	"github.com/aws/karpenter-provider-aws/pkg/providers/instancetype"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/builtin"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
)

// settings are what a class and a cluster may say of capacity.
type settings struct {
	name                                       string
	maxPods, podsPerCore                       *int32
	kubeReserved, systemReserved, evictionHard map[string]string
	volumes                                    []volume
	raid                                       bool
	interfaces                                 []api.NetworkInterface
	reservedENIs                               int
	overhead                                   float64
}

type volume struct {
	device, size string // size may be empty
	root         bool
}

func number(n int32) *int32 { return &n }

func all() []settings {
	return []settings{
		{name: "nothing", overhead: 0.075},
		{name: "maxPods", maxPods: number(110), overhead: 0.075},
		{name: "podsPerCore", podsPerCore: number(7), overhead: 0.075},
		{name: "maxPods and podsPerCore", maxPods: number(40), podsPerCore: number(8), overhead: 0.075},
		{
			name: "reserved", kubeReserved: map[string]string{"memory": "1Gi", "cpu": "150m"},
			systemReserved: map[string]string{"cpu": "100m", "memory": "200Mi", "ephemeral-storage": "2Gi"},
			overhead:       0.075,
		},
		{
			name:         "eviction by amount",
			evictionHard: map[string]string{"memory.available": "750Mi", "nodefs.available": "3Gi"}, overhead: 0.075,
		},
		{
			name:         "eviction by percentage",
			evictionHard: map[string]string{"memory.available": "5%", "nodefs.available": "15%"}, overhead: 0.075,
		},
		{
			name:         "eviction off",
			evictionHard: map[string]string{"memory.available": "100%", "nodefs.available": "100%"}, overhead: 0.075,
		},
		{name: "root volume", volumes: []volume{{"/dev/xvda", "100Gi", true}, {"/dev/xvdb", "55Gi", false}}, overhead: 0.075},
		{
			name:     "family's volumes",
			volumes:  []volume{{"/dev/xvda", "64Gi", false}, {"/dev/xvdb", "75Gi", false}, {"/dev/sda1", "90Gi", false}},
			overhead: 0.075,
		},
		{
			name:     "volume of a snapshot's size",
			volumes:  []volume{{"/dev/xvda", "", false}, {"/dev/xvdb", "", false}, {"/dev/sda1", "", false}},
			overhead: 0.075,
		},
		{name: "RAID0", raid: true, overhead: 0.075},
		{name: "a reserved interface", reservedENIs: 1, overhead: 0.075},
		{name: "more overhead", overhead: 0.11},
		{name: "interfaces for EFA", interfaces: []api.NetworkInterface{
			{InterfaceType: api.InterfaceTypeInterface}, {DeviceIndex: 1, InterfaceType: api.InterfaceTypeEFAOnly},
			{NetworkCardIndex: 1, DeviceIndex: 1, InterfaceType: api.InterfaceTypeEFAOnly},
		}, overhead: 0.075},
		{
			name:       "interfaces without EFA",
			interfaces: []api.NetworkInterface{{InterfaceType: api.InterfaceTypeInterface}}, overhead: 0.075,
		},
	}
}

func (s *settings) class(family string) *api.EC2NodeClass {
	class := catalogtest.NodeClass("default")
	class.Spec.AMISelectorTerms, class.Spec.AMIFamily = nil, &family
	class.Spec.Kubelet = &api.KubeletConfiguration{
		MaxPods: s.maxPods, PodsPerCore: s.podsPerCore, KubeReserved: s.kubeReserved,
		SystemReserved: s.systemReserved, EvictionHard: s.evictionHard,
	}
	for _, v := range s.volumes {
		mapping := &api.BlockDeviceMapping{DeviceName: aws.String(v.device), EBS: &api.BlockDevice{}, RootVolume: v.root}
		if v.size != "" {
			size := resource.MustParse(v.size)
			mapping.EBS.VolumeSize = &size
		}
		class.Spec.BlockDeviceMappings = append(class.Spec.BlockDeviceMappings, mapping)
	}
	if s.raid {
		policy := api.InstanceStorePolicyRAID0
		class.Spec.InstanceStorePolicy = &policy
	}
	class.Spec.NetworkInterfaces = s.interfaces
	// One image for every machine, so that no type is left out.
	class.Status.AMIs = []api.AMI{{ID: "ami-1"}}
	return class
}

func (s *settings) peer(info ec2types.InstanceTypeInfo, family string, zones []string) *cloudprovider.InstanceType {
	ctx := options.ToContext(
		context.Background(), &options.Options{VMMemoryOverheadPercent: s.overhead, ReservedENIs: s.reservedENIs},
	)
	var mappings []*karpenteraws.BlockDeviceMapping
	for _, v := range s.volumes {
		mapping := &karpenteraws.BlockDeviceMapping{
			DeviceName: aws.String(v.device), EBS: &karpenteraws.BlockDevice{}, RootVolume: v.root,
		}
		if v.size != "" {
			size := resource.MustParse(v.size)
			mapping.EBS.VolumeSize = &size
		}
		mappings = append(mappings, mapping)
	}
	var policy *karpenteraws.InstanceStorePolicy
	if s.raid {
		raid := karpenteraws.InstanceStorePolicyRAID0
		policy = &raid
	}
	var interfaces []*karpenteraws.NetworkInterface
	for _, n := range s.interfaces {
		interfaces = append(interfaces, &karpenteraws.NetworkInterface{
			NetworkCardIndex: n.NetworkCardIndex, DeviceIndex: n.DeviceIndex,
			InterfaceType: karpenteraws.InterfaceType(n.InterfaceType),
		})
	}
	var subnets []karpenteraws.ZoneInfo
	for i, zone := range []string{"us-east-1a", "us-east-1b", "us-east-1c"} {
		subnets = append(subnets, karpenteraws.ZoneInfo{Zone: zone, ZoneID: fmt.Sprintf("use1-az%d", i+1)})
	}
	return instancetype.NewInstanceType(ctx, info, "us-east-1", zones, subnets, mappings, policy, interfaces, s.maxPods,
		s.podsPerCore, s.kubeReserved, s.systemReserved,
		s.evictionHard, nil, family, nil)
}

// TestEveryTypeIsWhatKarpenterExpects compares labels, capacity and allocatable amounts of every
// type. What differs on purpose is told here.
func TestEveryTypeIsWhatKarpenterExpects(t *testing.T) {
	table, err := builtin.All()
	if err != nil {
		t.Fatal(err)
	}
	snapshot := catalogtest.Catalog(t)
	for _, family := range []string{
		api.AMIFamilyAL2, api.AMIFamilyAL2023, api.AMIFamilyBottlerocket, api.AMIFamilyCustom,
		api.AMIFamilyWindows2019, api.AMIFamilyWindows2022, api.AMIFamilyWindows2025,
	} {
		windows := strings.HasPrefix(family, "Windows")
		for _, s := range all() {
			t.Run(family+" "+s.name, func(t *testing.T) {
				snapshot.Settings = catalog.Settings{ReservedENIs: s.reservedENIs, VMMemoryOverheadPercent: &s.overhead}
				ours := map[string]*catalog.InstanceType{}
				types := catalog.Resolve(snapshot, s.class(family), catalog.Observed{}, time.Now())
				for i := range types {
					ours[types[i].Name] = &types[i]
				}
				compared, told := 0, 0
				for i := range table {
					info := describe(&table[i])
					theirs := s.peer(info, family, table[i].Zones)
					mine := ours[table[i].Name]
					if mine == nil {
						if !windows || !slices.Contains(table[i].Architectures, "arm64") {
							t.Errorf("%s: it is missing", table[i].Name)
						}
						continue // no Windows runs on arm64
					}
					compared++
					for _, difference := range differences(mine, theirs, family, &s, &table[i]) {
						if told++; told < 20 {
							t.Errorf("%s: %s", table[i].Name, difference)
						}
					}
				}
				if compared < 600 {
					t.Errorf("only %d types were compared", compared)
				}
			})
		}
	}
}

func differences(
	mine *catalog.InstanceType, theirs *cloudprovider.InstanceType, family string, s *settings,
	typ *builtin.InstanceType,
) []string {
	windows := strings.HasPrefix(family, "Windows")
	var found []string
	amounts := func(what string, a, b corev1.ResourceList) {
		names := map[corev1.ResourceName]bool{}
		for name := range a {
			names[name] = true
		}
		for name := range b {
			names[name] = true
		}
		for name := range names {
			x, y := a[name], b[name]
			switch {
			// Karpenter's table of network limits is older than ours and lacks what EC2 has added
			// since.
			case (name == api.ResourceAWSPodENI || name == api.ResourcePrivateIPv4Address) && y.IsZero() &&
				(instancetype.Limits[typ.Name] == nil || !instancetype.Limits[typ.Name].IsTrunkingCompatible):
				continue
			// Windows does not join an instance's own disks.
			case s.raid && windows && name == corev1.ResourceEphemeralStorage:
				continue
			// Amazon Linux reserves memory for the pods of interfaces that the class uses
			// otherwise, too.
			case what == "allocatable" && name == corev1.ResourceMemory && len(s.interfaces) > 1 && !windows &&
				family != api.AMIFamilyBottlerocket && x.Cmp(y) < 0:
				continue
			}
			// A Windows kubelet keeps 500 MiB free unless it is told otherwise, where Karpenter
			// counts with Linux's 100 MiB.
			if _, told := s.evictionHard["memory.available"]; what == "allocatable" && name == corev1.ResourceMemory &&
				windows && !told {
				y.Sub(resource.MustParse("400Mi"))
			}
			if y.Sign() < 0 {
				y = resource.Quantity{}
			}
			if x.Cmp(y) != 0 {
				found = append(found, fmt.Sprintf("%s of %s is %s, Karpenter has %s", what, name, x.String(), y.String()))
			}
		}
	}
	amounts("capacity", mine.Capacity, theirs.Capacity)
	amounts("allocatable", mine.Allocatable, theirs.Allocatable())
	for key, want := range theirs.Requirements {
		have, ok := mine.Requirements[key]
		if !ok {
			found = append(found, fmt.Sprintf("there is no requirement on %s, Karpenter has %s", key, want))
			continue
		}
		values, _ := have.Values()
		wanted := slices.Clone(want.Values())
		slices.Sort(wanted)
		switch {
		// A clock that EC2 does not tell is no clock of 0 MHz.
		case key == api.LabelInstanceCPUSustainedClockSpeedMhz && typ.SustainedClockGHz == 0 && have.AllowsAbsent():
			continue
		case slices.Equal(values, wanted):
			continue
		}
		found = append(found, fmt.Sprintf("%s, Karpenter has %s", have, want))
	}
	for key := range mine.Requirements {
		switch key {
		// Karpenter adds these later: the class's name with its pool, the group with the offerings.
		// The sandbox is newer than the release.
		case api.LabelNodeClass, api.LabelPlacementGroupID, api.LabelPlacementGroupPartition, api.LabelNitroSandbox:
		default:
			if !theirs.Requirements.Has(key) {
				found = append(found, "Karpenter has no requirement on "+key)
			}
		}
	}
	return found
}

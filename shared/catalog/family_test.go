package catalog_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
)

// ofFamily makes the class one of the family, with an image for every machine.
func ofFamily(family string, change func(*api.EC2NodeClass)) func(*api.EC2NodeClass) {
	return func(class *api.EC2NodeClass) {
		class.Spec.AMISelectorTerms, class.Spec.AMIFamily = nil, &family
		class.Status.AMIs = []api.AMI{{ID: "ami-1"}}
		if change != nil {
			change(class)
		}
	}
}

// TestAllocatableOfFamilies checks what the AMI families do differently, worked out by hand for
// m5.large (2 vCPUs, 8192 MiB of which 7577 MiB are left, 3 interfaces of 10 addresses: 29 pods)
// and m5d.large (75 GB of its own).
func TestAllocatableOfFamilies(t *testing.T) {
	maxPods, perCore := int32(60), int32(4)
	kubelet := func(k api.KubeletConfiguration) func(*api.EC2NodeClass) {
		return func(class *api.EC2NodeClass) { class.Spec.Kubelet = &k }
	}
	raid := func(class *api.EC2NodeClass) {
		policy := api.InstanceStorePolicyRAID0
		class.Spec.InstanceStorePolicy = &policy
	}
	volumes := func(class *api.EC2NodeClass) {
		for device, size := range map[string]string{"/dev/xvda": "30Gi", "/dev/xvdb": "40Gi", "/dev/sda1": "60Gi"} {
			quantity := resource.MustParse(size)
			class.Spec.BlockDeviceMappings = append(
				class.Spec.BlockDeviceMappings,
				&api.BlockDeviceMapping{DeviceName: &device, EBS: &api.BlockDevice{VolumeSize: &quantity}},
			)
		}
	}
	for _, test := range []struct {
		name, family, typ           string
		change                      func(*api.EC2NodeClass)
		pods, storage, memoryLeft   string
		storageLeft, privateAddress string
	}{
		// 11x29+255 = 574 MiB for the kubelet, 100 MiB for eviction; 20 GiB less 1 GiB and a tenth.
		{
			name: "AL2", family: api.AMIFamilyAL2, typ: "m5.large", pods: "29", storage: "20Gi", memoryLeft: "6903Mi",
			storageLeft: "17Gi",
		},
		{
			name: "AL2023", family: api.AMIFamilyAL2023, typ: "m5.large", pods: "29", storage: "20Gi",
			memoryLeft: "6903Mi", storageLeft: "17Gi",
		},
		{
			name: "Bottlerocket", family: api.AMIFamilyBottlerocket, typ: "m5.large", pods: "29", storage: "20Gi",
			memoryLeft: "6903Mi", storageLeft: "17Gi",
		},
		{
			name: "Custom", family: api.AMIFamilyCustom, typ: "m5.large", pods: "29", storage: "20Gi",
			memoryLeft: "6903Mi", storageLeft: "17Gi",
		},
		// 110 pods: 11x110+255 = 1465 MiB, and Windows keeps 500 MiB free. 9 of the first
		// interface's 10 addresses are for pods.
		{
			name: "Windows 2019", family: api.AMIFamilyWindows2019, typ: "m5.large", pods: "110", storage: "50Gi",
			memoryLeft: "5612Mi", storageLeft: "44Gi", privateAddress: "9",
		},
		{
			name: "Windows 2022", family: api.AMIFamilyWindows2022, typ: "m5.large", pods: "110", storage: "50Gi",
			memoryLeft: "5612Mi", storageLeft: "44Gi", privateAddress: "9",
		},
		{
			name: "Windows 2025", family: api.AMIFamilyWindows2025, typ: "m5.large", pods: "110", storage: "50Gi",
			memoryLeft: "5612Mi", storageLeft: "44Gi", privateAddress: "9",
		},
		// Amazon Linux reserves by addresses, Bottlerocket and Windows by maxPods: 11x60+255 = 915
		// MiB.
		{
			name: "AL2023 maxPods", family: api.AMIFamilyAL2023, typ: "m5.large",
			change: kubelet(api.KubeletConfiguration{MaxPods: &maxPods}), pods: "60", storage: "20Gi",
			memoryLeft: "6903Mi", storageLeft: "17Gi",
		},
		{
			name: "Bottlerocket maxPods", family: api.AMIFamilyBottlerocket, typ: "m5.large",
			change: kubelet(api.KubeletConfiguration{MaxPods: &maxPods}), pods: "60", storage: "20Gi",
			memoryLeft: "6562Mi", storageLeft: "17Gi",
		},
		{
			name: "Windows maxPods", family: api.AMIFamilyWindows2022, typ: "m5.large",
			change: kubelet(api.KubeletConfiguration{MaxPods: &maxPods}), pods: "60", storage: "50Gi",
			memoryLeft: "6162Mi", storageLeft: "44Gi", privateAddress: "9",
		},
		// Bottlerocket knows no podsPerCore.
		{
			name: "AL2 podsPerCore", family: api.AMIFamilyAL2, typ: "m5.large",
			change: kubelet(api.KubeletConfiguration{PodsPerCore: &perCore}), pods: "8", storage: "20Gi",
			memoryLeft: "6903Mi", storageLeft: "17Gi",
		},
		{
			name: "Bottlerocket podsPerCore", family: api.AMIFamilyBottlerocket, typ: "m5.large",
			change: kubelet(api.KubeletConfiguration{PodsPerCore: &perCore}), pods: "29", storage: "20Gi",
			memoryLeft: "6903Mi", storageLeft: "17Gi",
		},
		{
			name: "Windows podsPerCore", family: api.AMIFamilyWindows2022, typ: "m5.large",
			change: kubelet(api.KubeletConfiguration{PodsPerCore: &perCore}), pods: "8", storage: "50Gi",
			memoryLeft: "6734Mi", storageLeft: "44Gi", privateAddress: "9",
		},
		// Each family keeps the kubelet's data on a device of its own.
		{
			name: "AL2023 volumes", family: api.AMIFamilyAL2023, typ: "m5.large", change: volumes, pods: "29",
			storage: "30Gi", memoryLeft: "6903Mi", storageLeft: "26Gi",
		},
		{
			name: "Bottlerocket volumes", family: api.AMIFamilyBottlerocket, typ: "m5.large", change: volumes,
			pods: "29", storage: "40Gi", memoryLeft: "6903Mi", storageLeft: "35Gi",
		},
		{
			name: "Windows volumes", family: api.AMIFamilyWindows2019, typ: "m5.large", change: volumes, pods: "110",
			storage: "60Gi", memoryLeft: "5612Mi", storageLeft: "53Gi", privateAddress: "9",
		},
		// 75 GB less a tenth and 1 GiB; Windows stays on its volume.
		{
			name: "Bottlerocket RAID0", family: api.AMIFamilyBottlerocket, typ: "m5d.large", change: raid, pods: "29",
			storage: "75G", memoryLeft: "6903Mi", storageLeft: "66426258176",
		},
		{
			name: "Windows RAID0", family: api.AMIFamilyWindows2022, typ: "m5d.large", change: raid, pods: "110",
			storage: "50Gi", memoryLeft: "5612Mi", storageLeft: "44Gi", privateAddress: "9",
		},
		// 5 % of 7577 MiB is 397253017.6 bytes, rounded up; 100 % switches off.
		{name: "eviction by percentage", family: api.AMIFamilyAL2023, typ: "m5.large", change: kubelet(
			api.KubeletConfiguration{EvictionHard: map[string]string{"memory.available": "5%", "nodefs.available": "100%"}},
		),
			pods: "29", storage: "20Gi", memoryLeft: "6945924710", storageLeft: "19Gi"},
		{name: "eviction off, and amounts that are none", family: api.AMIFamilyAL2023, typ: "m5.large",
			change: kubelet(api.KubeletConfiguration{
				EvictionHard: map[string]string{"memory.available": "100%", "nodefs.available": "half"},
				KubeReserved: map[string]string{"memory": "-1"},
			}), pods: "29", storage: "20Gi", memoryLeft: "7003Mi", storageLeft: "17Gi"},
		// evictionSoft is a warning and takes nothing away.
		{name: "soft eviction", family: api.AMIFamilyAL2023, typ: "m5.large", change: kubelet(
			api.KubeletConfiguration{EvictionSoft: map[string]string{"memory.available": "2Gi"}},
		),
			pods: "29", storage: "20Gi", memoryLeft: "6903Mi", storageLeft: "17Gi"},
	} {
		t.Run(test.name, func(t *testing.T) {
			typ := resolved(t, test.typ, ofFamily(test.family, test.change))
			if typ == nil {
				t.Fatalf("no type %s", test.typ)
			}
			if test.privateAddress == "" {
				test.privateAddress = "0"
			}
			for _, check := range []struct {
				list corev1.ResourceList
				name corev1.ResourceName
				want string
			}{
				{typ.Capacity, corev1.ResourcePods, test.pods},
				{typ.Capacity, corev1.ResourceEphemeralStorage, test.storage},
				{typ.Capacity, api.ResourcePrivateIPv4Address, test.privateAddress},
				{typ.Allocatable, corev1.ResourceMemory, test.memoryLeft},
				{typ.Allocatable, corev1.ResourceEphemeralStorage, test.storageLeft},
			} {
				if got := check.list[check.name]; got.Cmp(resource.MustParse(check.want)) != 0 {
					t.Errorf("%s is %s, want %s", check.name, got.String(), check.want)
				}
			}
		})
	}
}

func TestWindowsLabels(t *testing.T) {
	for family, build := range map[string]string{
		api.AMIFamilyWindows2019: "10.0.17763", api.AMIFamilyWindows2022: "10.0.20348",
		api.AMIFamilyWindows2025: "10.0.26100",
	} {
		typ := resolved(t, "m5.large", ofFamily(family, nil))
		for key, want := range map[string]string{
			corev1.LabelOSStable: "windows", corev1.LabelWindowsBuild: build, corev1.LabelArchStable: "amd64",
		} {
			if got, _ := typ.Requirements[key].Single(); got != want {
				t.Errorf("%s: %s, want %q", family, typ.Requirements[key], want)
			}
		}
		if resolved(t, "m7g.large", ofFamily(family, nil)) != nil {
			t.Errorf("%s runs on Graviton", family)
		}
	}
}

// TestSettings checks what holds for all nodes of the cluster: 8192 MiB less 15 % (1228.8, rounded
// up) are 6963 MiB; with one of three interfaces reserved there are 2x9+2 = 20 pods, and Amazon
// Linux still reserves memory for 29.
func TestSettings(t *testing.T) {
	s, overhead := catalogtest.Catalog(t), 0.15
	s.Settings = catalog.Settings{ReservedENIs: 1, VMMemoryOverheadPercent: &overhead}
	for _, typ := range catalog.Resolve(s, catalogtest.NodeClass("default"), catalog.Observed{}, catalogtest.Now) {
		if typ.Name != "m5.large" {
			continue
		}
		for name, want := range map[corev1.ResourceName]string{corev1.ResourcePods: "20", corev1.ResourceMemory: "6289Mi"} {
			if got := typ.Allocatable[name]; got.Cmp(resource.MustParse(want)) != 0 {
				t.Errorf("%s is %s, want %s", name, got.String(), want)
			}
		}
		return
	}
	t.Error("no m5.large")
}

func TestDevices(t *testing.T) {
	interfaces := []api.NetworkInterface{
		{InterfaceType: api.InterfaceTypeInterface}, {DeviceIndex: 1, InterfaceType: api.InterfaceTypeEFAOnly},
		{NetworkCardIndex: 1, DeviceIndex: 1, InterfaceType: api.InterfaceTypeEFAOnly},
	}
	for _, test := range []struct {
		typ        string
		interfaces []api.NetworkInterface
		want       map[corev1.ResourceName]string
	}{
		{
			"g5.12xlarge", nil,
			map[corev1.ResourceName]string{api.ResourceNVIDIAGPU: "4", api.ResourceAWSPodENI: "107", api.ResourceEFA: "1"},
		},
		{
			"inf1.xlarge", nil,
			map[corev1.ResourceName]string{
				api.ResourceAWSNeuron: "1", api.ResourceAWSNeuronCore: "4", api.ResourceAWSPodENI: "38",
			},
		},
		{"inf2.48xlarge", nil, map[corev1.ResourceName]string{api.ResourceAWSNeuron: "12", api.ResourceAWSNeuronCore: "24"}},
		{
			"m5.large", nil,
			map[corev1.ResourceName]string{
				api.ResourceAWSPodENI: "9", api.ResourceEFA: "0", api.ResourceNVIDIAGPU: "0",
				api.ResourcePrivateIPv4Address: "0",
			},
		},
		{"t3.micro", nil, map[corev1.ResourceName]string{api.ResourceAWSPodENI: "0"}},
		// Two interfaces on each of 32 cards; the one for EFA on the first card leaves one
		// interface of 50 addresses for pods: 51.
		{"p5.48xlarge", nil, map[corev1.ResourceName]string{api.ResourceEFA: "32", corev1.ResourcePods: "100"}},
		{"p5.48xlarge", interfaces, map[corev1.ResourceName]string{api.ResourceEFA: "2", corev1.ResourcePods: "51"}},
		{"p5.48xlarge", interfaces[:1], map[corev1.ResourceName]string{api.ResourceEFA: "0", corev1.ResourcePods: "100"}},
		// A part of a GPU is no whole one: EC2 counts none, and a NodeOverlay says what it is
		// worth.
		{"g6f.large", nil, map[corev1.ResourceName]string{api.ResourceNVIDIAGPU: "0"}},
	} {
		t.Run(test.typ, func(t *testing.T) {
			typ := resolved(
				t, test.typ,
				ofFamily(api.AMIFamilyAL2023, func(class *api.EC2NodeClass) { class.Spec.NetworkInterfaces = test.interfaces }),
			)
			if typ == nil {
				t.Fatal("it is not offered")
			}
			for name, want := range test.want {
				if got := typ.Capacity[name]; got.Cmp(resource.MustParse(want)) != 0 {
					t.Errorf("%s is %s, want %s", name, got.String(), want)
				}
			}
		})
	}
}

// TestWhatNodesAreTold: where an image works something else out than is planned with, or where AWS
// does not say what it works out, nodes are told.
func TestWhatNodesAreTold(t *testing.T) {
	maxPods := int32(40)
	efa := func(class *api.EC2NodeClass) {
		class.Spec.NetworkInterfaces = []api.NetworkInterface{
			{InterfaceType: api.InterfaceTypeInterface}, {DeviceIndex: 1, InterfaceType: api.InterfaceTypeEFAOnly},
		}
	}
	kubelet := func(k api.KubeletConfiguration) func(*api.EC2NodeClass) {
		return func(class *api.EC2NodeClass) { class.Spec.Kubelet = &k }
	}
	some := kubelet(api.KubeletConfiguration{KubeReserved: map[string]string{"cpu": "200m", "pid": "100"}})
	const byWindows = "cpu=70m ephemeral-storage=1Gi memory=1465Mi"
	for _, test := range []struct {
		name, family string
		reserved     int // interfaces
		change       func(*api.EC2NodeClass)
		pods         int32 // 0: not told
		keeps        string
	}{
		{name: "AL2 works out both", family: api.AMIFamilyAL2},
		{name: "AL2023 works out both", family: api.AMIFamilyAL2023},
		{name: "Bottlerocket works out both", family: api.AMIFamilyBottlerocket},
		{name: "Windows may reserve anything", family: api.AMIFamilyWindows2022, keeps: byWindows},
		{name: "AL2 does not know of reserved interfaces", family: api.AMIFamilyAL2, reserved: 1, pods: 20},
		{name: "AL2023 does not know of reserved interfaces", family: api.AMIFamilyAL2023, reserved: 2, pods: 11},
		{name: "Bottlerocket does not know of reserved interfaces", family: api.AMIFamilyBottlerocket, reserved: 1, pods: 20},
		{name: "Windows takes as many with them", family: api.AMIFamilyWindows2022, reserved: 1, keeps: byWindows},
		{name: "Custom is told by its owner", family: api.AMIFamilyCustom, reserved: 1},
		{name: "an interface for EFA is none for pods", family: api.AMIFamilyAL2023, change: efa, pods: 20},
		{
			name: "the class's own number counts", family: api.AMIFamilyAL2023, reserved: 1,
			change: kubelet(api.KubeletConfiguration{MaxPods: &maxPods}),
		},
		{
			name: "AL2 forgets what a flag does not say", family: api.AMIFamilyAL2, change: some,
			keeps: "cpu=200m ephemeral-storage=1Gi memory=574Mi pid=100",
		},
		{name: "AL2023 keeps it", family: api.AMIFamilyAL2023, change: some},
		{name: "Bottlerocket keeps it", family: api.AMIFamilyBottlerocket, change: some},
		{
			name: "Windows forgets it", family: api.AMIFamilyWindows2022, change: some,
			keeps: "cpu=200m ephemeral-storage=1Gi memory=1465Mi pid=100",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := catalogtest.Catalog(t)
			s.Settings.ReservedENIs = test.reserved
			class := catalogtest.NodeClass("default")
			ofFamily(test.family, test.change)(class)
			types := catalog.Resolve(s, class, catalog.Observed{}, catalogtest.Now)
			i := slices.IndexFunc(types, func(typ catalog.InstanceType) bool { return typ.Name == "m5.large" })
			told := types[i].Kubelet
			if told == nil {
				told = &api.KubeletConfiguration{}
			}
			var keeps []string
			for _, name := range slices.Sorted(maps.Keys(told.KubeReserved)) {
				keeps = append(keeps, name+"="+told.KubeReserved[name])
			}
			if got := strings.Join(keeps, " "); got != test.keeps {
				t.Errorf("kubeReserved is told as %q, want %q", got, test.keeps)
			}
			var pods int32
			if told.MaxPods != nil {
				pods = *told.MaxPods
			}
			if pods != test.pods {
				t.Errorf("maxPods is told as %d, want %d", pods, test.pods)
			}
			if planned := types[i].Capacity.Pods().Value(); pods != 0 && planned != int64(pods) {
				t.Errorf("told %d pods, planned with %d", pods, planned)
			}
		})
	}
}

package catalog_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
)

func resolved(t *testing.T, name string, change func(*api.EC2NodeClass)) *catalog.InstanceType {
	t.Helper()
	class := catalogtest.NodeClass("default")
	if change != nil {
		change(class)
	}
	types := catalog.Resolve(catalogtest.Catalog(t), class, catalog.Observed{}, catalogtest.Now)
	for i := range types {
		if types[i].Name == name {
			return &types[i]
		}
	}
	return nil
}

// TestAllocatable checks amounts worked out by hand from EC2's documented sizes and the
// reservations of Amazon Linux 2023.
func TestAllocatable(t *testing.T) {
	quantity := func(text string) *resource.Quantity { q := resource.MustParse(text); return &q }
	name, maxPods, perCore := "/dev/xvda", int32(20), int32(3)
	for _, test := range []struct {
		name, typ                              string
		change                                 func(*api.EC2NodeClass)
		cpu, memory, pods, storage, memoryLeft string
		cpuLeft                                string
	}{
		// 8192 MiB - ceil(614.4) = 7577 MiB; 3 interfaces x 9 addresses + 2 = 29 pods; reserved
		// 11x29+255 = 574 MiB and 100 MiB for eviction.
		{
			name: "m5.large", typ: "m5.large", cpu: "2", memory: "7577Mi", pods: "29", storage: "20Gi",
			cpuLeft: "1930m", memoryLeft: "6903Mi",
		},
		// Graviton keeps 64 MiB more: 8192-64 = 8128, - ceil(609.6) = 7518 MiB.
		{
			name: "arm", typ: "m6g.large", cpu: "2", memory: "7518Mi", pods: "29", storage: "20Gi", cpuLeft: "1930m",
			memoryLeft: "6844Mi",
		},
		{name: "disk of its own size", typ: "m5.large", change: func(c *api.EC2NodeClass) {
			c.Spec.BlockDeviceMappings = []*api.BlockDeviceMapping{
				{DeviceName: &name, EBS: &api.BlockDevice{VolumeSize: quantity("100Gi")}},
			}
		}, cpu: "2", memory: "7577Mi", pods: "29", storage: "100Gi", cpuLeft: "1930m", memoryLeft: "6903Mi"},
		// The kubelet's memory still follows the addresses that the type has.
		{name: "maxPods", typ: "m5.large", change: func(c *api.EC2NodeClass) {
			c.Spec.Kubelet = &api.KubeletConfiguration{MaxPods: &maxPods}
		}, cpu: "2", memory: "7577Mi", pods: "20", storage: "20Gi", cpuLeft: "1930m", memoryLeft: "6903Mi"},
		{name: "podsPerCore", typ: "m5.large", change: func(c *api.EC2NodeClass) {
			c.Spec.Kubelet = &api.KubeletConfiguration{PodsPerCore: &perCore}
		}, cpu: "2", memory: "7577Mi", pods: "6", storage: "20Gi", cpuLeft: "1930m", memoryLeft: "6903Mi"},
		{name: "reservations of the user's own", typ: "m5.large", change: func(c *api.EC2NodeClass) {
			c.Spec.Kubelet = &api.KubeletConfiguration{
				KubeReserved: map[string]string{"cpu": "100m"}, SystemReserved: map[string]string{"cpu": "200m", "memory": "77Mi"},
				EvictionHard: map[string]string{"memory.available": "500Mi"},
			}
		}, cpu: "2", memory: "7577Mi", pods: "29", storage: "20Gi", cpuLeft: "1700m", memoryLeft: "6426Mi"},
		// m5d.large has one NVMe disk of 75 GB.
		{name: "own disks", typ: "m5d.large", change: func(c *api.EC2NodeClass) {
			policy := api.InstanceStorePolicyRAID0
			c.Spec.InstanceStorePolicy = &policy
		}, cpu: "2", memory: "7577Mi", pods: "29", storage: "75G", cpuLeft: "1930m", memoryLeft: "6903Mi"},
		// 192 cores: 60+10+10+470 = 550 millicores; 15 interfaces x 49 + 2 = 737 pods.
		{
			name: "large", typ: "m7i.48xlarge", cpu: "192", memory: "727449Mi", pods: "737", storage: "20Gi",
			cpuLeft: "191450m", memoryLeft: "718987Mi",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			typ := resolved(t, test.typ, test.change)
			if typ == nil {
				t.Fatalf("no type %s", test.typ)
			}
			for _, check := range []struct {
				list corev1.ResourceList
				name corev1.ResourceName
				want string
			}{
				{typ.Capacity, corev1.ResourceCPU, test.cpu}, {typ.Capacity, corev1.ResourceMemory, test.memory},
				{typ.Capacity, corev1.ResourcePods, test.pods},
				{typ.Capacity, corev1.ResourceEphemeralStorage, test.storage},
				{typ.Allocatable, corev1.ResourceCPU, test.cpuLeft},
				{typ.Allocatable, corev1.ResourceMemory, test.memoryLeft},
			} {
				if got := check.list[check.name]; got.Cmp(resource.MustParse(check.want)) != 0 {
					t.Errorf("%s is %s, want %s", check.name, got.String(), check.want)
				}
			}
		})
	}
}

func TestLabels(t *testing.T) {
	for _, test := range []struct {
		typ  string
		want map[string]string
	}{
		{"m7i-flex.large", map[string]string{
			api.LabelInstanceCategory: "m", api.LabelInstanceGeneration: "7", api.LabelInstanceFamily: "m7i-flex",
			api.LabelInstanceSize: "large", api.LabelInstanceCapabilityFlex: "true",
			api.LabelInstanceCPU: "2", api.LabelInstanceMemory: "8192", api.LabelInstanceCPUManufacturer: "intel",
			api.LabelInstanceHypervisor: "nitro",
			corev1.LabelArchStable:      "amd64", corev1.LabelOSStable: "linux", corev1.LabelTopologyRegion: "us-east-1",
			api.LabelNodeClass: "default",
		}},
		{"g5.12xlarge", map[string]string{
			api.LabelInstanceGPUName: "a10g", api.LabelInstanceGPUManufacturer: "nvidia",
			api.LabelInstanceGPUCount: "4", api.LabelInstanceGPUMemory: "22888", api.LabelInstanceLocalNVME: "3800",
		}},
		{
			"c7g.metal",
			map[string]string{api.LabelInstanceHypervisor: "", corev1.LabelArchStable: "arm64", api.LabelInstanceSize: "metal"},
		},
	} {
		t.Run(test.typ, func(t *testing.T) {
			typ := resolved(t, test.typ, nil)
			if typ == nil {
				t.Fatal("it is not offered")
			}
			for key, want := range test.want {
				if got, ok := typ.Requirements[key].Single(); !ok || got != want {
					t.Errorf("%s, want %q", typ.Requirements[key], want)
				}
			}
		})
	}
	plain := resolved(t, "m5.large", nil)
	for _, key := range []string{
		api.LabelInstanceGPUCount, api.LabelInstanceLocalNVME, api.LabelCapacityReservationID,
		corev1.LabelWindowsBuild,
	} {
		if r, ok := plain.Requirements[key]; !ok || !r.AllowsAbsent() {
			t.Errorf("%s, want it not to exist", r)
		}
	}
	if !resolved(t, "g5.xlarge", nil).Exotic || plain.Exotic {
		t.Error("types with GPUs, and they alone, are exotic")
	}
}

func TestResolveLeavesOut(t *testing.T) {
	for _, test := range []struct {
		name, typ string
		change    func(*api.EC2NodeClass)
	}{
		{"no image for its architecture", "m6g.large", func(c *api.EC2NodeClass) { c.Status.AMIs = c.Status.AMIs[:1] }},
		{"no image for its GPU", "g5.xlarge", func(c *api.EC2NodeClass) { c.Status.AMIs = c.Status.AMIs[:2] }},
		{"no images yet", "m5.large", func(c *api.EC2NodeClass) { c.Status.AMIs = nil }},
		{"no subnets yet", "m5.large", func(c *api.EC2NodeClass) { c.Status.Subnets = nil }},
		{"Windows on Graviton", "m6g.large", func(c *api.EC2NodeClass) {
			c.Spec.AMISelectorTerms = []api.AMISelectorTerm{{Alias: "windows2022@latest"}}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if resolved(t, test.typ, test.change) != nil {
				t.Errorf("%s is offered", test.typ)
			}
		})
	}
}

func TestOfferings(t *testing.T) {
	s, class := catalogtest.Catalog(t), catalogtest.NodeClass("default")
	class.Status.Subnets = class.Status.Subnets[:2]
	u := &catalog.Unavailable{}
	u.Mark(api.CapacityTypeSpot, "m5.large", "us-east-1a", catalogtest.Now)
	available := func(now time.Time) int {
		count := 0
		for _, typ := range catalog.Resolve(s, class, catalog.Observed{Unavailable: u}, now) {
			for i, o := range typ.Offerings {
				if typ.Name == "m5.large" && o.Available {
					count++
				}
				if o.Zone == "us-east-1c" {
					t.Fatalf("%s is offered in a zone without a subnet", typ.Name)
				}
				if i > 0 && o.Price < typ.Offerings[i-1].Price {
					t.Fatalf("%s: offerings are not sorted by price", typ.Name)
				}
			}
		}
		return count
	}
	if got := available(catalogtest.Now.Add(catalog.UnavailableFor - time.Second)); got != 3 {
		t.Errorf("%d offerings while spot is out in one of two zones, want 3", got)
	}
	if got := available(catalogtest.Now.Add(catalog.UnavailableFor)); got != 4 {
		t.Errorf("%d offerings later, want 4", got)
	}
}

// TestUnpricedOfferings: an offering without a price is not available, and says so where nothing
// else stands in its way.
func TestUnpricedOfferings(t *testing.T) {
	s, class := catalogtest.Catalog(t), catalogtest.NodeClass("default")
	for i := range s.InstanceTypes {
		if s.InstanceTypes[i].InstanceType == "m5.large" {
			s.InstanceTypes[i].OnDemandPrice = 0
		}
	}
	u := &catalog.Unavailable{}
	u.Mark(api.CapacityTypeOnDemand, "m5.large", "us-east-1a", catalogtest.Now)
	unpriced := 0
	for _, typ := range catalog.Resolve(s, class, catalog.Observed{Unavailable: u}, catalogtest.Now) {
		for _, o := range typ.Offerings {
			wanting := typ.Name == "m5.large" && o.CapacityType == api.CapacityTypeOnDemand
			if wanting && o.Available {
				t.Errorf("on demand in %s without a price is available", o.Zone)
			}
			if o.Unpriced != (wanting && o.Zone != "us-east-1a") {
				t.Errorf("%s %s in %s: only the price is wanting: %v", typ.Name, o.CapacityType, o.Zone, o.Unpriced)
			}
			if o.Unpriced {
				unpriced++
			}
		}
	}
	if unpriced == 0 {
		t.Error("no offering lacks a price")
	}
}

func TestPrice(t *testing.T) {
	s := catalogtest.Catalog(t)
	labels := func(name, zone, capacityType string) map[string]string {
		return map[string]string{
			corev1.LabelInstanceTypeStable: name, corev1.LabelTopologyZone: zone,
			api.CapacityTypeLabelKey: capacityType,
		}
	}
	onDemand, ok := s.Price(labels("m5.large", "us-east-1a", api.CapacityTypeOnDemand))
	if !ok || onDemand != 0.096 {
		t.Errorf("m5.large costs %v (%t) on demand, want 0.096", onDemand, ok)
	}
	if spot, ok := s.Price(labels("m5.large", "us-east-1a", api.CapacityTypeSpot)); !ok || spot >= onDemand {
		t.Errorf("m5.large costs %v (%t) as spot, want less than %v", spot, ok, onDemand)
	}
	for _, unknown := range []map[string]string{labels("x1.none", "us-east-1a", ""), labels(
		"m5.large", "nowhere", api.CapacityTypeSpot,
	)} {
		if price, ok := s.Price(unknown); ok {
			t.Errorf("%v costs %v", unknown, price)
		}
	}
}

// TestSnapshotSize holds the limit of what fits a ConfigMap (1 MiB, after base64) with room for
// more types to come.
func TestSnapshotSize(t *testing.T) {
	text, err := json.Marshal(catalogtest.Catalog(t))
	if err != nil {
		t.Fatal(err)
	}
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d types: %d bytes, %d compressed", len(catalogtest.Catalog(t).InstanceTypes), len(text), compressed.Len())
	if compressed.Len() > 400_000 {
		t.Errorf("%d bytes compressed", compressed.Len())
	}
	var again catalog.Catalog
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if second, _ := json.Marshal(&again); !bytes.Equal(text, second) {
		t.Error("read back it is another")
	}
}

func TestUnavailable(t *testing.T) {
	now := catalogtest.Now
	var a, b catalog.Unavailable
	a.Mark(api.CapacityTypeSpot, "m5.large", "us-east-1a", now)
	b.Mark(api.CapacityTypeSpot, "m5.large", "us-east-1a", now.Add(time.Minute))
	b.Mark(api.CapacityTypeOnDemand, "c5.large", "us-east-1b", now.Add(-time.Minute))
	a.Merge(&b)
	a.Merge(nil)
	if !a.Has(api.CapacityTypeSpot, "m5.large", "us-east-1a", now.Add(catalog.UnavailableFor+30*time.Second)) {
		t.Error("the later time does not win")
	}
	if !a.Prune(now.Add(catalog.UnavailableFor-time.Minute)) || len(a.Until) != 1 || a.Prune(now) {
		t.Errorf("after pruning %v", a.Until)
	}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var again catalog.Unavailable
	if err := json.Unmarshal(text, &again); err != nil || !again.Has(api.CapacityTypeSpot, "m5.large", "us-east-1a", now) {
		t.Errorf("%s read back: %v (%v)", text, again, err)
	}
	if (*catalog.Unavailable)(nil).Has("spot", "m5.large", "us-east-1a", now) {
		t.Error("nothing has something")
	}
	group, other := &api.PlacementGroup{ID: "pg-1"}, &api.PlacementGroup{ID: "pg-2"}
	grouped := catalog.Unavailable{}
	grouped.LeaveOut(
		catalog.InGroup(catalog.OfferingKey("spot", "m5.large", "us-east-1b"), group.ID), now.Add(time.Minute),
	)
	grouped.LeaveOut(catalog.GroupZoneKey("us-east-1c", group.ID), now.Add(time.Minute))
	for _, test := range []struct {
		group *api.PlacementGroup
		typ   string
		zone  string
		want  bool
	}{
		{group, "m5.large", "us-east-1b", true}, {group, "c5.large", "us-east-1b", false},
		{group, "c5.large", "us-east-1c", true},
		{other, "m5.large", "us-east-1b", false}, {other, "c5.large", "us-east-1c", false},
		{nil, "m5.large", "us-east-1b", false}, {nil, "c5.large", "us-east-1c", false},
	} {
		class := &api.EC2NodeClass{}
		if class.Name = "grouped"; test.group != nil {
			class.Spec.PlacementGroupSelector, class.Status.PlacementGroup = &api.PlacementGroupSelector{}, test.group
		}
		if got := grouped.HasFor(class, "spot", test.typ, test.zone, now); got != test.want {
			t.Errorf("%s in %s for the group %v is left out: %v", test.typ, test.zone, test.group, got)
		}
	}
	refused := catalog.Unavailable{}
	refused.LeaveOut(catalog.OfClass(catalog.OfferingKey("spot", "m5.large", "us-east-1b"), "a"), now.Add(time.Minute))
	for name, want := range map[string]bool{"a": true, "b": false} {
		class := &api.EC2NodeClass{}
		class.Name = name
		if got := refused.HasFor(class, "spot", "m5.large", "us-east-1b", now); got != want {
			t.Errorf("what EC2 refused the class a is left out for the class %s: %v", name, got)
		}
	}
	for _, bad := range []string{"", "spot:m5.large", "a:b:c:d", "::"} {
		if _, _, _, err := catalog.ParseOfferingKey(bad); err == nil ||
			!strings.Contains(err.Error(), "want capacityType:instanceType:zone") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A shifted zone has no offering, and a shift that is over has no effect. Marks of others keep the
// shift.
func TestAShiftedZoneHasNoOffering(t *testing.T) {
	now := catalogtest.Now
	class := catalogtest.NodeClass("default")
	unavailable := &catalog.Unavailable{Shifted: map[string]time.Time{
		"use1-az1": now.Add(time.Hour), "use1-az2": now,
	}}
	var marks catalog.Unavailable
	marks.Mark(api.CapacityTypeSpot, "c5.large", "us-east-1b", now)
	unavailable.Merge(&marks)
	types := catalog.Resolve(catalogtest.Catalog(t), class, catalog.Observed{Unavailable: unavailable}, now)
	here := 0
	for i := range types {
		for _, offering := range types[i].Offerings {
			if offering.Available && offering.Zone == "us-east-1a" {
				t.Fatalf("%s is available in the shifted zone: %+v", types[i].Name, offering)
			}
			if offering.Available {
				here++
			}
		}
	}
	if here == 0 || !unavailable.Prune(now) || len(unavailable.Shifted) != 1 {
		t.Errorf("%d offerings are left elsewhere, and the shifts %v", here, unavailable.Shifted)
	}
}

package builtin

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// all reads the embedded table and indexes it by name.
func all(t *testing.T) map[string]InstanceType {
	t.Helper()
	types, err := All()
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]InstanceType, len(types))
	for _, it := range types {
		byName[it.Name] = it
	}
	return byName
}

func TestTableHasTheNewestAndTheUsualFamilies(t *testing.T) {
	types := all(t)
	if len(types) < 700 {
		t.Errorf("the table has %d types, want at least 700", len(types))
	}
	families := make(map[string]bool)
	for name := range types {
		family, _, _ := strings.Cut(name, ".")
		families[family] = true
	}
	for _, family := range strings.Fields(
		"t3 t4g m5 m6i m7i m7i-flex m7g m8g m8i m9g c5 c6i c7g c7i c8g c9g r5 r7i r8g x8g i4i i8g g5 g5g g6 g6e g6f gr6 " +
			"p4d p5 inf1 inf2 trn1 hpc7g u7i-12tb",
	) {
		if !families[family] {
			t.Errorf("family %s is absent", family)
		}
	}
}

func TestEveryTypeIsPlausible(t *testing.T) {
	if size := len(table); size >= 400_000 {
		t.Errorf("the table has %d bytes, want less than 400 kB", size)
	}
	zone := regexp.MustCompile(`^us-east-1[a-f]$`)
	for name, it := range all(t) {
		if it.VCPUs <= 0 || it.MemoryMiB <= 0 {
			t.Errorf("%s: %d vCPUs and %d MiB", name, it.VCPUs, it.MemoryMiB)
		}
		// The dearest types have 32 TiB of memory, the cheapest half a GiB.
		if it.OnDemandPrice < 0.004 || it.OnDemandPrice > 500 {
			t.Errorf("%s: %v $/h", name, it.OnDemandPrice)
		}
		for _, z := range it.Zones {
			if !zone.MatchString(z) {
				t.Errorf("%s: zone %q", name, z)
			}
		}
		// A local EC2 with zones a, b and c offers every type somewhere.
		if !slices.ContainsFunc(it.Zones, func(z string) bool { return z <= "us-east-1c" }) {
			t.Errorf("%s: offered in none of us-east-1a, b, c: %v", name, it.Zones)
		}
		if arm, aws := slices.Contains(it.Architectures, "arm64"), it.ProcessorManufacturer == "AWS"; arm != aws {
			t.Errorf("%s: architectures %v of manufacturer %s", name, it.Architectures, it.ProcessorManufacturer)
		}
		if !slices.Contains(it.UsageClasses, "on-demand") {
			t.Errorf("%s: usage classes %v", name, it.UsageClasses)
		}
		interfaces := 0
		for _, card := range it.Network.Cards {
			interfaces += card.MaximumInterfaces
		}
		if interfaces < it.Network.MaximumInterfaces {
			t.Errorf("%s: cards hold %d interfaces, the type %d", name, interfaces, it.Network.MaximumInterfaces)
		}
		if it.Network.BranchInterfaces > 0 && it.Hypervisor == "xen" {
			t.Errorf("%s: branch interfaces need nitro", name)
		}
		for _, device := range it.NeuronDevices {
			if device.Count <= 0 || device.CoresPerDevice <= 0 || device.MemoryMiB <= 0 {
				t.Errorf("%s: %+v", name, device)
			}
		}
		for _, gpu := range it.GPUs {
			if gpu.LogicalCount <= 0 || gpu.MemoryMiB <= 0 || (gpu.PartitionSize == 1) != (gpu.Count > 0) {
				t.Errorf("%s: %+v", name, gpu)
			}
		}
	}
}

func TestNotEveryTypeIsInEveryZone(t *testing.T) {
	offered := make(map[string]int)
	types := all(t)
	for _, it := range types {
		for _, zone := range it.Zones {
			offered[zone]++
		}
	}
	for _, zone := range []string{"us-east-1a", "us-east-1b", "us-east-1c"} {
		if offered[zone] < 700 || offered[zone] == len(types) {
			t.Errorf("%s offers %d of %d types, want most but not all", zone, offered[zone], len(types))
		}
	}
}

// The expected facts are those of AWS's public pages on instance types, prices and network limits.
func TestKnownTypes(t *testing.T) {
	types := all(t)
	for _, want := range []struct {
		name                   string
		vcpus                  int
		memoryMiB              int64
		architecture           string
		interfaces, ipv4       int
		price                  float64
		hypervisor             string
		storageGB              int64
		branchInterfaces       int
		efaInterfaces          int
		spot, encryptedTransit bool
	}{
		{"m5.large", 2, 8192, "x86_64", 3, 10, 0.096, "nitro", 0, 9, 0, true, false},
		{"t3.micro", 2, 1024, "x86_64", 2, 2, 0.0104, "nitro", 0, 0, 0, true, false},
		{"c5.xlarge", 4, 8192, "x86_64", 4, 15, 0.17, "nitro", 0, 18, 0, true, false},
		{"m4.large", 2, 8192, "x86_64", 2, 10, 0.1, "xen", 0, 0, 0, true, false},
		{"r6g.2xlarge", 8, 65536, "arm64", 4, 15, 0.4032, "nitro", 0, 38, 0, true, false},
		{"c7g.16xlarge", 64, 131072, "arm64", 15, 50, 2.32, "nitro", 0, 107, 1, true, true},
		{"m5d.metal", 96, 393216, "x86_64", 15, 50, 5.424, "", 3600, 107, 0, true, false},
		{"i3en.large", 2, 16384, "x86_64", 3, 10, 0.226, "nitro", 1250, 5, 0, true, true},
		{"hpc7g.16xlarge", 64, 131072, "arm64", 4, 50, 1.6832, "nitro", 0, 118, 1, false, true},
	} {
		t.Run(want.name, func(t *testing.T) {
			got, ok := types[want.name]
			if !ok {
				t.Fatal("the type is absent")
			}
			if got.VCPUs != want.vcpus || got.MemoryMiB != want.memoryMiB ||
				!slices.Contains(got.Architectures, want.architecture) {
				t.Errorf("%d vCPUs, %d MiB, %v", got.VCPUs, got.MemoryMiB, got.Architectures)
			}
			if got.Network.MaximumInterfaces != want.interfaces || got.Network.IPv4PerInterface != want.ipv4 {
				t.Errorf("%d interfaces of %d addresses", got.Network.MaximumInterfaces, got.Network.IPv4PerInterface)
			}
			if got.OnDemandPrice != want.price {
				t.Errorf("%v $/h", got.OnDemandPrice)
			}
			if got.Hypervisor != want.hypervisor || got.BareMetal != (want.hypervisor == "") {
				t.Errorf("hypervisor %q, bare metal %t", got.Hypervisor, got.BareMetal)
			}
			if got.InstanceStorage.TotalGB != want.storageGB {
				t.Errorf("%d GB of local storage", got.InstanceStorage.TotalGB)
			}
			if got.Network.BranchInterfaces != want.branchInterfaces {
				t.Errorf("%d branch interfaces", got.Network.BranchInterfaces)
			}
			if got.Network.MaximumEFAInterfaces != want.efaInterfaces || got.Network.EFASupported != (want.efaInterfaces > 0) {
				t.Errorf("%d EFA interfaces, supported %t", got.Network.MaximumEFAInterfaces, got.Network.EFASupported)
			}
			if got.Network.EncryptionInTransit != want.encryptedTransit ||
				slices.Contains(got.UsageClasses, "spot") != want.spot {
				t.Errorf("encryption in transit %t, usage classes %v", got.Network.EncryptionInTransit, got.UsageClasses)
			}
		})
	}
}

func TestKnownDevices(t *testing.T) {
	types := all(t)
	if got, want := types["p5.48xlarge"].GPUs,
		[]GPU{{Name: "H100", Manufacturer: "NVIDIA", Count: 8, MemoryMiB: 81920, LogicalCount: 8,
			PartitionSize: 1}}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("p5.48xlarge: GPUs %+v, want %+v", got, want)
	}
	if got, want := types["g6f.large"].GPUs,
		[]GPU{{Name: "L4", Manufacturer: "NVIDIA", Count: 0, MemoryMiB: 2861, LogicalCount: 1,
			PartitionSize: 0.125}}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("g6f.large: GPUs %+v, want %+v", got, want)
	}
	inf2 := types["inf2.48xlarge"]
	if want := []InferenceAccelerator{{Name: "Inferentia2", Manufacturer: "AWS", Count: 12,
		MemoryMiB: 32768}}; !slices.Equal(
		inf2.InferenceAccelerators,
		want,
	) {
		t.Errorf("inf2.48xlarge: inference accelerators %+v, want %+v", inf2.InferenceAccelerators, want)
	}
	if want := []NeuronDevice{{Name: "Inferentia2", Count: 12, MemoryMiB: 32768, CoresPerDevice: 2,
		CoreVersion: 2}}; !slices.Equal(
		inf2.NeuronDevices,
		want,
	) {
		t.Errorf("inf2.48xlarge: neuron devices %+v, want %+v", inf2.NeuronDevices, want)
	}
	if trn1 := types["trn1.32xlarge"]; len(trn1.InferenceAccelerators) != 0 || len(trn1.NeuronDevices) != 1 ||
		len(trn1.Network.Cards) != 8 {
		t.Errorf("trn1.32xlarge: %+v", trn1)
	}
	if got, want := types["m5.large"].EBS, (EBS{"default", 650, 4750, 27, "shared"}); got != want {
		t.Errorf("m5.large: EBS %+v, want %+v", got, want)
	}
	if got, want := types["m5.large"].Network.Cards,
		[]NetworkCard{{Index: 0, MaximumInterfaces: 3, BaselineBandwidthGbps: 0.75, PeakBandwidthGbps: 10}}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("m5.large: network cards %+v, want %+v", got, want)
	}
}

func TestReadmeTellsTheCount(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "**" + strconv.Itoa(len(all(t))) + " instance types**"; !strings.Contains(string(readme), want) {
		t.Errorf("README.md does not say %q: its numbers are of another table", want)
	}
}

func TestAllGivesEachCallerItsOwnTypes(t *testing.T) {
	first, err := All()
	if err != nil {
		t.Fatal(err)
	}
	name, zone := first[0].Name, first[0].Zones[0]
	first[0].Name, first[0].Zones[0] = "changed", "changed"
	second, err := All()
	if err != nil {
		t.Fatal(err)
	}
	if second[0].Name != name || second[0].Zones[0] != zone {
		t.Errorf("a change by one caller reached another: %q in %q", second[0].Name, second[0].Zones[0])
	}
}

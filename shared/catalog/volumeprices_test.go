package catalog_test

import (
	"math"
	"testing"

	"github.com/whittle-dev/whittle/shared/catalog"
)

func TestVolumePricesPerHour(t *testing.T) {
	for _, test := range []struct {
		name   string
		volume catalog.Volume
		month  float64
	}{
		{"the disk of AL2023", catalog.Volume{Type: "gp3", GiB: 20}, 1.6},
		{"what gp3 includes", catalog.Volume{Type: "gp3", GiB: 20, IOPS: 3000, Throughput: 125}, 1.6},
		{"gp3 with more", catalog.Volume{Type: "gp3", GiB: 100, IOPS: 4000, Throughput: 225}, 8 + 5 + 4},
		{"gp2", catalog.Volume{Type: "gp2", GiB: 50}, 5},
		{"io1", catalog.Volume{Type: "io1", GiB: 100, IOPS: 1000}, 12.5 + 65},
		{"io2", catalog.Volume{Type: "io2", GiB: 100, IOPS: 1000}, 12.5 + 65},
		{"io2, second tier", catalog.Volume{Type: "io2", GiB: 100, IOPS: 40_000}, 12.5 + 32_000*0.065 + 8_000*0.0455},
		{"io2, third tier", catalog.Volume{Type: "io2", GiB: 100, IOPS: 70_000},
			12.5 + 32_000*0.065 + 32_000*0.0455 + 6_000*0.03185},
		{"st1", catalog.Volume{Type: "st1", GiB: 500}, 22.5},
		{"sc1", catalog.Volume{Type: "sc1", GiB: 500}, 7.5},
		{"standard", catalog.Volume{Type: "standard", GiB: 10}, 0.5},
		{"a type to come", catalog.Volume{Type: "gp9", GiB: 10}, 0},
		{"a negative size", catalog.Volume{Type: "gp3", GiB: -10, IOPS: -1, Throughput: -1}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := catalog.BuiltinVolumePrices().PerHour(test.volume) * 730; math.Abs(got-test.month) > 1e-9 {
				t.Errorf("a month costs %v, want %v", got, test.month)
			}
		})
	}
}

func TestVolumePricesOfASnapshot(t *testing.T) {
	disk := catalog.Volume{Type: "gp3", GiB: 730, IOPS: 3001}
	for _, test := range []struct {
		name          string
		snapshot      *catalog.Catalog
		disk, address float64
	}{
		{"none", nil, 0.08 + 0.005/730, 0.005},
		{"of an earlier version, without volumes", &catalog.Catalog{}, 0.08 + 0.005/730, 0.005},
		{"read in part", &catalog.Catalog{VolumePrices: catalog.VolumePrices{"VolumeUsage.gp3": 0.1}}, 0.1 + 0.005/730, 0.005},
		{"in yuan, not read", &catalog.Catalog{Prices: catalog.Prices{Currency: "CNY"}}, 0, 0},
		{"in yuan", &catalog.Catalog{Prices: catalog.Prices{Currency: "CNY"},
			VolumePrices: catalog.VolumePrices{"VolumeUsage.gp3": 0.5}}, 0.5, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, address := catalog.VolumePricesOf(test.snapshot).PerHour(disk), catalog.PublicAddressPrice(test.snapshot)
			if math.Abs(got-test.disk) > 1e-9 || address != test.address {
				t.Errorf("the disk costs %v and an address %v, want %v and %v", got, address, test.disk, test.address)
			}
		})
	}
}

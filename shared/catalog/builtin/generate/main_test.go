package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// complete is a type on which all sources agree.
func complete() sources {
	var d described
	d.Hypervisor = "nitro"
	d.SupportedUsageClasses = []string{"spot", "on-demand"}
	d.MemoryInfo.SizeInMiB = 8192
	d.VCpuInfo.DefaultVCpus, d.VCpuInfo.DefaultCores, d.VCpuInfo.DefaultThreadsPerCore = 2, 1, 2
	d.ProcessorInfo.Manufacturer, d.ProcessorInfo.SupportedArchitectures = "Intel", []string{"x86_64"}
	d.EbsInfo.EbsOptimizedSupport, d.EbsInfo.EbsOptimizedInfo.MaximumBandwidthInMbps = "default", 4750
	d.PlacementGroupInfo.SupportedStrategies = []string{"spread", "cluster"}
	d.NetworkInfo.MaximumNetworkInterfaces, d.NetworkInfo.Ipv4AddressesPerInterface = 3, 10
	d.NetworkInfo.NetworkCards = append(d.NetworkInfo.NetworkCards, struct {
		NetworkCardIndex, MaximumNetworkInterfaces   int
		BaselineBandwidthInGbps, PeakBandwidthInGbps float64
	}{0, 3, 0.75, 10})
	return sources{
		described: map[string]described{"m5.large": d},
		zones:     map[string][]string{"m5.large": {"us-east-1a"}},
		limits: map[string]limits{
			"m5.large": {interfaces: 3, ipv4PerInterface: 10, branchInterfaces: 9, cards: []int{3}, hypervisor: "nitro"},
		},
		prices:     map[string]float64{"m5.large": 0.096},
		bandwidths: map[string]float64{"m5.large": 750},
	}
}

func TestJoinKeepsACompleteType(t *testing.T) {
	rows, leftOut := join(complete())
	if len(rows) != 1 || len(leftOut) != 0 {
		t.Fatalf("rows %v, left out %v", rows, leftOut)
	}
	text, err := encode(rows)
	if err != nil {
		t.Fatal(err)
	}
	_, row, _ := strings.Cut(string(text), "\n")
	want := "m5.large,2,1,2,8192,x86_64,Intel,,,nitro,false,false,false,on-demand;spot,,,,,,,default,,4750,,,,750,0:3:0.75:10,0,3,10,,,,false,9,false,cluster;spread,false,0.096,us-east-1a\n"
	if row != want {
		t.Errorf("row\n%swant\n%s", row, want)
	}
}

func TestJoinLeavesOutIncompleteTypes(t *testing.T) {
	for _, test := range []struct {
		title  string
		damage func(*sources)
		want   string
	}{
		{"no description", func(s *sources) { delete(s.described, "m5.large") }, "no description"},
		{"no limits", func(s *sources) { delete(s.limits, "m5.large") }, "no network limits"},
		{"no price", func(s *sources) { delete(s.prices, "m5.large") }, "no on-demand price in us-east-1"},
		{"no zone", func(s *sources) { delete(s.zones, "m5.large") }, "no zone of us-east-1 offers it"},
		{"no vCPUs", func(s *sources) { change(s, func(d *described) { d.VCpuInfo.DefaultVCpus = 0 }) }, "no vCPUs"},
		{"no memory", func(s *sources) { change(s, func(d *described) { d.MemoryInfo.SizeInMiB = 0 }) }, "no memory"},
		{
			"no architecture",
			func(s *sources) { change(s, func(d *described) { d.ProcessorInfo.SupportedArchitectures = nil }) },
			"no processor",
		},
		{
			"no usage class", func(s *sources) { change(s, func(d *described) { d.SupportedUsageClasses = nil }) },
			"no usage class",
		},
		{"no EBS", func(s *sources) {
			change(s, func(d *described) { d.EbsInfo.EbsOptimizedInfo.MaximumBandwidthInMbps = 0 })
		}, "no EBS bandwidth"},
		{
			"other interfaces",
			func(s *sources) { change(s, func(d *described) { d.NetworkInfo.MaximumNetworkInterfaces = 4 }) },
			"two sources disagree on its network interfaces",
		},
		{
			"no cards", func(s *sources) { change(s, func(d *described) { d.NetworkInfo.NetworkCards = nil }) },
			"two sources disagree on its network interfaces",
		},
		{
			"other addresses",
			func(s *sources) { change(s, func(d *described) { d.NetworkInfo.Ipv4AddressesPerInterface = 4 }) },
			"two sources disagree on its addresses or default card",
		},
		{
			"other hypervisor", func(s *sources) { change(s, func(d *described) { d.Hypervisor = "xen" }) },
			"two sources disagree on its hypervisor",
		},
	} {
		t.Run(test.title, func(t *testing.T) {
			s := complete()
			test.damage(&s)
			rows, leftOut := join(s)
			if len(rows) != 0 || leftOut["m5.large"] != test.want {
				t.Errorf("%d rows, left out %v, want %q", len(rows), leftOut, test.want)
			}
		})
	}
}

func change(s *sources, edit func(*described)) {
	d := s.described["m5.large"]
	edit(&d)
	s.described["m5.large"] = d
}

func TestReportGroupsByReasonAndFamily(t *testing.T) {
	text := report(
		map[string]string{"m5.large": "no memory", "m5.xlarge": "no memory", "c5.large": "no memory", "p9.large": "no vCPUs"},
	)
	want := "left out, no memory: 3\n  c5: large\n  m5: large xlarge\nleft out, no vCPUs: 1\n  p9: large\n"
	if text != want {
		t.Errorf("report\n%swant\n%s", text, want)
	}
}

func TestLiteralsOfGoSource(t *testing.T) {
	for _, test := range []struct {
		title, source, wantError string
	}{
		{"good", `package p; var (other = 1; table = map[string]float64{"m5.large": 0.096, "t3.nano": 5})`, ""},
		{"absent", `package p; var other = 1`, "no such variable"},
		{"not a literal", `package p; var table = f()`, "no such variable"},
		{"value that is not a number", `package p; var table = map[string]string{"m5.large": "0.096"}`,
			`value of "m5.large" is not a number`},
		{"key that is not a text", `package p; var table = map[int]float64{1: 2}`, "not a literal text"},
		{"no key", `package p; var table = []float64{1}`, "has no key"},
		{"not Go", `package`, "reading table"},
	} {
		t.Run(test.title, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "table.go")
			if err := os.WriteFile(path, []byte(test.source), 0o600); err != nil {
				t.Fatal(err)
			}
			literal, err := mapVariable(path, "table")
			var got map[string]float64
			if err == nil {
				got, err = numbers("table", literal)
			}
			if test.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantError) {
					t.Errorf("error %v, want one that says %q", err, test.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 2 || got["m5.large"] != 0.096 || got["t3.nano"] != 5 {
				t.Errorf("%v", got)
			}
		})
	}
}

func TestNetworkLimits(t *testing.T) {
	all := networkLimits()
	got := all["m5.large"]
	if got.interfaces != 3 || got.ipv4PerInterface != 10 || got.branchInterfaces != 9 || len(got.cards) != 1 ||
		got.cards[0] != 3 || got.hypervisor != "nitro" || got.bareMetal {
		t.Errorf("m5.large: %+v", got)
	}
	if got := all["t3.micro"].branchInterfaces; got != 0 {
		t.Errorf("t3.micro cannot carry a trunk interface, but has %d branch interfaces", got)
	}
}

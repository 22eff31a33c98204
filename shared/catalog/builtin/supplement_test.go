package builtin

import (
	"strings"
	"testing"
	"time"
)

func TestSupplementSaysWhatEC2DoesNot(t *testing.T) {
	s, err := ReadSupplement()
	if err != nil {
		t.Fatal(err)
	}
	types, err := All()
	if err != nil {
		t.Fatal(err)
	}
	east := s.Prices["us-east-1"]
	for _, typ := range types {
		if got := s.BranchInterfaces[typ.Name]; got != typ.Network.BranchInterfaces {
			t.Errorf("%s: %d branch interfaces, the table says %d", typ.Name, got, typ.Network.BranchInterfaces)
		}
		if got := s.NetworkBaselineMbps[typ.Name]; got != typ.Network.BaselineBandwidthMbps {
			t.Errorf("%s: %d Mbps, the table says %d", typ.Name, got, typ.Network.BaselineBandwidthMbps)
		}
		if got := east.PerHour[typ.Name]; got != typ.OnDemandPrice {
			t.Errorf("%s costs %v, the table says %v", typ.Name, got, typ.OnDemandPrice)
		}
	}
	if len(east.PerHour) <= len(types) || east.Currency != "USD" || east.Date.Year() < 2026 {
		t.Errorf(
			"us-east-1: %d prices in %s of %s: want more than the table's %d", len(east.PerHour), east.Currency,
			east.Date, len(types),
		)
	}
	for region, currency := range map[string]string{"us-gov-east-1": "USD", "us-gov-west-1": "USD", "cn-north-1": "CNY"} {
		if list := s.Prices[region]; list.PerHour["m5.large"] <= 0 || list.Currency != currency ||
			list.Date.Before(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%s: m5.large costs %v %s as of %s", region, list.PerHour["m5.large"], list.Currency, list.Date)
		}
	}
}

func TestSupplementNamesRowAndColumnOfWhatIsWrong(t *testing.T) {
	const header = "name,branch_interfaces,network_baseline_mbps,us-east-1 USD 2026-07-06\n"
	for _, test := range []struct {
		title, text string
		want        []string
	}{
		{"empty", "", []string{"empty", "header"}},
		{"other columns", "name,price\n", []string{"row 1", "branch_interfaces"}},
		{
			"price without its currency", "name,branch_interfaces,network_baseline_mbps,us-east-1\n",
			[]string{"row 1", `column "us-east-1"`, "region currency date"},
		},
		{
			"price without a date", "name,branch_interfaces,network_baseline_mbps,us-east-1 USD July\n",
			[]string{"row 1", `"July" is not a date`},
		},
		{"no name", header + ",9,750,0.1\n", []string{"row 2", `column "name"`}},
		{"count not a number", header + "m5.large,nine,750,0.1\n", []string{"row 2", `column "branch_interfaces"`, `"nine"`}},
		{"negative bandwidth", header + "m5.large,9,-1,0.1\n", []string{"row 2", `column "network_baseline_mbps"`}},
		{"infinite price", header + "m5.large,9,750,Inf\n", []string{"row 2", "us-east-1 USD", `"Inf"`}},
		{"cell missing", header + "m5.large,9,750\n", []string{"wrong number of fields"}},
	} {
		t.Run(test.title, func(t *testing.T) {
			_, err := parseSupplement(strings.NewReader(test.text))
			if err == nil {
				t.Fatal("it was accepted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

package builtin

import (
	"encoding/csv"
	"reflect"
	"strings"
	"testing"
)

// document builds a table with the embedded table's row of each named type, after edit has changed
// the cells of the last one by column.
func document(t *testing.T, edit map[string]string, names ...string) string {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	w := csv.NewWriter(&text)
	rows := [][]string{records[0]}
	for _, name := range names {
		for _, record := range records[1:] {
			if record[0] == name {
				rows = append(rows, record)
			}
		}
	}
	if len(rows) != len(names)+1 {
		t.Fatalf("the table lacks some of %q", names)
	}
	for i, column := range rows[0] {
		if cell, ok := edit[column]; ok {
			rows[len(rows)-1][i] = cell
			delete(edit, column)
		}
	}
	if len(edit) > 0 {
		t.Fatalf("the table has no columns %v", edit)
	}
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestParseNamesRowAndColumnOfMalformedCells(t *testing.T) {
	for _, test := range []struct {
		title, column, cell, wantMessage string
	}{
		{"name without size", "name", "m5", "not an instance type's name"},
		{"name that repeats", "name", "a1.large", "does not sort after"},
		{"name out of order", "name", "a0.large", "does not sort after"},
		{"no vCPUs", "vcpus", "0", "want at least 1"},
		{"empty vCPUs", "vcpus", "", "not a whole number"},
		{"negative cores", "cores_default", "-1", "not a whole number"},
		{"fractional memory", "memory_mib", "8192.5", "not a whole number"},
		{"memory beyond any bound", "memory_mib", "99999999999999999999", "not a whole number"},
		{"vCPUs that are not cores times threads", "vcpus", "3", "not 1 cores of 2 threads"},
		{"unknown architecture", "architectures", "x86_64;mips", `"mips" is none of`},
		{"no architecture", "architectures", "", "the cell is empty"},
		{"no manufacturer", "processor_manufacturer", "", "the cell is empty"},
		{"clock not a number", "sustained_clock_ghz", "fast", "not a number"},
		{"clock NaN", "sustained_clock_ghz", "NaN", "not a number"},
		{"unknown hypervisor", "hypervisor", "kvm", `"kvm" is none of`},
		{"virtual without hypervisor", "hypervisor", "", "only bare metal has no hypervisor"},
		{"boolean of another spelling", "bare_metal", "yes", "neither true nor false"},
		{"list with an empty entry", "usage_classes", "on-demand;", "empty entry"},
		{"GPU with too few parts", "gpus", "NVIDIA:T4:1", "memory in MiB: it is missing"},
		{"GPU with too many parts", "gpus", "NVIDIA:T4:1:16384:1:1:1", "1 parts too many"},
		{"GPU with a bad count", "gpus", "NVIDIA:T4:one:16384:1:1", `count: "one"`},
		{"accelerator without memory", "inference_accelerators", "AWS:Inferentia:1", "it is missing"},
		{"neuron device without cores", "neuron_devices", "Trainium:1:32768", "cores of each device: it is missing"},
		{"disk with an empty part", "instance_storage_disks", "1::ssd", "size in GB: it is missing"},
		{"disks that are not the total", "instance_storage_gb", "75", "the disks have 0 GB"},
		{"NVMe without storage", "instance_storage_nvme", "required", "only then"},
		{"EBS bandwidth missing", "ebs_maximum_mbps", "", "do not fit"},
		{"EBS baseline over the maximum", "ebs_baseline_mbps", "9999", "do not fit"},
		{"unknown attachment limit", "ebs_attachment_limit_type", "none", "is none of"},
		{"no network card", "network_cards", "", "there is no card 0"},
		{"cards out of order", "network_cards", "1:3:0.75:10", "card 0 has index 1"},
		{"default card that is not there", "network_default_card", "1", "there is no card 1"},
		{"no interfaces", "network_maximum_interfaces", "", "not a whole number"},
		{"negative price", "on_demand_usd_per_hour", "-0.096", "not a number of at least 0"},
		{"unknown placement strategy", "placement_strategies", "spread;heap", `"heap" is none of`},
		{"no price", "on_demand_usd_per_hour", "", "must be more than 0"},
		{"no zones", "zones", "", "at least one zone"},
		{"zones unsorted", "zones", "us-east-1b;us-east-1a", "must be sorted"},
	} {
		t.Run(test.title, func(t *testing.T) {
			text := document(t, map[string]string{test.column: test.cell}, "a1.large", "m5.large")
			_, err := Parse(strings.NewReader(text))
			if err == nil {
				t.Fatal("the row was accepted")
			}
			column := test.column
			switch test.title { // these faults lie between two columns and are told of the one that a reader would mend
			case "EBS baseline over the maximum":
				column = "ebs_maximum_mbps"
			case "no network card":
				column = "network_default_card"
			}
			for _, want := range []string{"row 3", `column "` + column + `"`, test.wantMessage} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestParseNamesRowAndColumnOfMalformedTables(t *testing.T) {
	valid := document(t, nil, "m5.large")
	header, row, _ := strings.Cut(valid, "\n")
	for _, test := range []struct {
		title, text string
		want        []string
	}{
		{"empty", "", []string{"empty", "header"}},
		{
			"header with a column too few", strings.TrimSuffix(header, ",zones") + "\n" + row,
			[]string{"row 1", `"zones" is missing`},
		},
		{"header with a column too many", header + ",extra\n" + row, []string{"row 1", `"extra" is unknown`}},
		{
			"header with another name", strings.Replace(header, "vcpus", "cpus", 1) + "\n" + row,
			[]string{"row 1", `"cpus"`, `"vcpus"`},
		},
		{
			"row with a cell too few", header + "\n" + row[:strings.LastIndex(row, ",")] + "\n",
			[]string{"row 2", `column "zones" is missing`},
		},
		{
			"row with a cell too many", header + "\n" + strings.TrimSpace(row) + ",more\n",
			[]string{"row 2", `"zones"`, "1 cells too many"},
		},
		{"open quote", header + "\n\"" + row, []string{"line 2"}},
	} {
		t.Run(test.title, func(t *testing.T) {
			_, err := Parse(strings.NewReader(test.text))
			if err == nil {
				t.Fatal("the table was accepted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

func TestParseReadsAPartOfTheTableAsTheWhole(t *testing.T) {
	types, err := Parse(strings.NewReader(document(t, nil, "g6f.large", "m5.large", "trn1.32xlarge")))
	if err != nil {
		t.Fatal(err)
	}
	whole := all(t)
	if len(types) != 3 {
		t.Fatalf("%d types, want 3", len(types))
	}
	for _, it := range types {
		if !reflect.DeepEqual(it, whole[it.Name]) {
			t.Errorf("%s: %+v, want %+v", it.Name, it, whole[it.Name])
		}
	}
}

func FuzzParse(f *testing.F) {
	lines := strings.SplitAfter(table, "\n")
	f.Add(lines[0])
	f.Add(lines[0] + lines[1] + lines[2])
	f.Add(strings.Join(strings.Split(lines[0], ","), ";"))
	f.Fuzz(func(t *testing.T, text string) {
		types, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, it := range types {
			if it.VCPUs <= 0 || it.OnDemandPrice <= 0 || len(it.Zones) == 0 || len(it.Network.Cards) == 0 {
				t.Errorf("accepted a type without mandatory facts: %+v", it)
			}
		}
	})
}

package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/testdata/peer/workload"
)

// TestPlannersAgree has both planners place all pods of small snapshots, Whittle for no more money.
// A quarter of the instance types will do, with those that the workloads ask for by name.
func TestPlannersAgree(t *testing.T) {
	types, err := workload.InstanceTypes()
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	types = slices.DeleteFunc(types, func(t catalog.InstanceType) bool {
		i++
		return i%4 != 0 && !strings.HasPrefix(t.Name, "m5.") && !strings.HasPrefix(t.Name, "c5.")
	})
	c := &comparison{types: types, extras: defaultExtras(), limit: 5 * time.Minute, workers: 2, repetitions: 1, karpenterRepetitions: 1}
	for _, w := range workload.All() {
		for _, capacityTypes := range workload.CapacityTypes() {
			t.Run(w.Name+" "+strings.Join(capacityTypes, " "), func(t *testing.T) {
				row, err := c.row(t.Context(), w, 100, capacityTypes)
				if err != nil {
					t.Fatal(err)
				}
				k, ours := row.Karpenter[0], row.Whittle[0]
				if k.TimedOut {
					t.Fatal("Karpenter did not come to an end")
				}
				if k.LeftOut > 0 || ours.LeftOut > 0 {
					t.Errorf("left out: by Karpenter %v, by Whittle %v", row.LeftOutByKarpenter, row.LeftOutByWhittle)
				}
				if ours.PricePerHour > k.PricePerHour*(1+1e-9) {
					t.Errorf(
						"Whittle's %d nodes cost %g $/h, Karpenter's %d cost %g",
						ours.Nodes,
						ours.PricePerHour,
						k.Nodes,
						k.PricePerHour,
					)
				}
				if fee := row.WithFee; fee.Whittle > fee.Karpenter*(1+1e-9) || fee.LowerBound > fee.Whittle*(1+1e-9) ||
					fee.LowerBound <= row.LowerBoundPerHour {
					t.Errorf("with a fee: %+v, without the bound is %g", fee, row.LowerBoundPerHour)
				}
				if row.LowerBoundPerHour > k.PricePerHour*(1+1e-9) {
					t.Errorf("Karpenter's nodes cost %g $/h, below the bound of %g", k.PricePerHour, row.LowerBoundPerHour)
				}
				if ours.Allocations == 0 || k.Allocations == 0 || ours.Wall <= 0 || k.CPU <= 0 {
					t.Errorf("nothing was measured: %+v, %+v", ours.Cost, k.Cost)
				}
			})
		}
	}
}

func TestRunWritesTheReport(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "results")
	var out strings.Builder
	if err := run(t.Context(), []string{"-workloads", "batch", "-sizes", "20", "-capacity", "spot", "-repetitions", "1",
		"-out", folder}, &out); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 1 || !strings.HasPrefix(out.String(), "batch ") {
		t.Errorf("wrote %q", out.String())
	}
	for name, want := range map[string]string{"results.md": "| batch | 20 | spot and on-demand |", "chart.svg": "<svg "} {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, %.200q", name, err, text)
		}
	}
}

func TestRunRefusesBadFlags(t *testing.T) {
	for _, test := range []struct{ arguments, want string }{
		{"-workloads nothing", `no workload "nothing"`},
		{"-sizes many", `size "many"`},
		{"-sizes 0", `size "0"`},
		{"-capacity reserved", `capacity "reserved"`},
		{"-limit 0s", "must be positive"},
		{"-repetitions 0", "must be positive"},
		{"now", `unexpected argument "now"`},
	} {
		t.Run(test.arguments, func(t *testing.T) {
			if err := run(t.Context(), strings.Fields(test.arguments), io.Discard); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/testdata/peer/workload"
)

// TestBothConsolidate has both sides consolidate small fleets to their ends: Whittle for no more
// money.
func TestBothConsolidate(t *testing.T) {
	types, err := workload.InstanceTypes()
	if err != nil {
		t.Fatal(err)
	}
	c := &consolidations{types: types, limit: 5 * time.Minute, workers: 1, rest: 5}
	for _, fleet := range consolidationtest.Fleets() {
		t.Run(fleet.Name, func(t *testing.T) {
			row, err := c.row(t.Context(), &fleet, 8)
			if err != nil {
				t.Fatal(err)
			}
			k, w := &row.Karpenter, &row.Whittle
			if k.Unfinished || k.Decisions == 0 || w.Decisions == 0 {
				t.Errorf("Karpenter decided %d times, Whittle %d times", k.Decisions, w.Decisions)
			}
			for side, price := range map[string]float64{"Karpenter": k.PricePerHour, "Whittle": w.PricePerHour} {
				if price < row.LowerBoundPerHour*(1-1e-9) || price >= row.PricePerHour {
					t.Errorf("%s comes to %g, from %g with a bound of %g", side, price, row.PricePerHour, row.LowerBoundPerHour)
				}
			}
			if w.PricePerHour > k.PricePerHour*(1+1e-9) {
				t.Errorf("Whittle comes to %g, Karpenter to %g", w.PricePerHour, k.PricePerHour)
			}
			if row.MovedToPrice < 0 || row.MovedToPrice > w.Moved {
				t.Errorf("Whittle moves %d pods to Karpenter's price, and %d in all", row.MovedToPrice, w.Moved)
			}
			if w.Memory == 0 || w.Memory > 1<<30 {
				t.Errorf("%d bytes of memory", w.Memory)
			}
		})
	}
}

func TestConsolidationWritesItsReport(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "results")
	var out strings.Builder
	if err := run(t.Context(), []string{"-consolidation", "-fleets", "over-provisioned", "-nodes", "3", "-rest", "2",
		"-out", folder}, &out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "consolidation.md"))
	if err != nil || !strings.Contains(string(text), "| over-provisioned | 3 |") ||
		!strings.Contains(string(text), "make bench-consolidation arguments=") {
		t.Errorf("%v, %s", err, text)
	}
	for _, arguments := range []string{"-consolidation -fleets none", "-consolidation -nodes 0"} {
		if err := run(t.Context(), strings.Fields(arguments), &out); err == nil {
			t.Errorf("%s is no error", arguments)
		}
	}
}

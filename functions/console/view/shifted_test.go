package view_test

import (
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/functions/console/view"
	"github.com/whittle-dev/whittle/shared/catalog"
)

func TestShiftedZonesAreNamed(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	objects := &view.Cluster{
		Catalog: &catalog.Catalog{Zones: []catalog.AvailabilityZone{{ZoneName: "us-east-1a", ZoneID: "use1-az1"}}},
		Shifted: map[string]time.Time{
			"use1-az1": at.Add(time.Hour), "use1-az9": at.Add(time.Minute), "use1-az2": at, // which is over
		},
	}
	shown := view.Of(objects, at)
	if len(shown.ShiftedZones) != 2 {
		t.Fatalf("the zones are %v, want two", shown.ShiftedZones)
	}
	var out strings.Builder
	if err := shown.WriteTables(&out, view.Form{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"ZONAL SHIFT: zone us-east-1a (use1-az1) until 2026-03-01 13:00 UTC", "ZONAL SHIFT: zone use1-az9 until",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the tables lack %q:\n%s", want, out.String())
		}
	}
}

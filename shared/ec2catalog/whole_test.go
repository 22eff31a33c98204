package ec2catalog

import (
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/catalog"
)

// TestAnswersThatCannotBeAll gives what EC2 answers with, after a snapshot with two types in two zones.
func TestAnswersThatCannotBeAll(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	zones := []catalog.AvailabilityZone{{ZoneName: "a"}, {ZoneName: "b"}}
	typed := func(at time.Time, names ...string) *catalog.Catalog {
		c := &catalog.Catalog{Time: at, Zones: zones}
		for _, name := range names {
			c.InstanceTypes = append(c.InstanceTypes, catalog.InstanceTypeInfo{InstanceType: name, Zones: []string{"a", "b"}})
		}
		return c
	}
	both := map[string][]string{"m": {"a", "b"}, "c": {"a", "b"}}
	noZones := typed(noon, "m", "c")
	noZones.Zones = nil
	for _, test := range []struct {
		name     string
		read     *catalog.Catalog
		zonesOf  map[string][]string
		previous *catalog.Catalog
		want     string // empty where the answer counts
	}{
		{"all", typed(noon, "m", "c"), both, typed(noon.Add(-time.Hour), "m", "c"), ""},
		{"the first", typed(noon, "m"), map[string][]string{"m": {"a"}}, nil, ""},
		{"no type", typed(noon), both, nil, "no type"},
		{"no offering", typed(noon, "m", "c"), nil, nil, "no offering"},
		{"no zone", noZones, both, nil, "no zone"},
		{"half", typed(noon, "m", "c"), map[string][]string{"m": {"a"}, "c": {"b"}}, typed(noon.Add(-time.Hour), "m", "c"), ""},
		{"less than half", typed(noon, "m", "c"), map[string][]string{"m": {"a"}}, typed(noon.Add(-time.Hour), "m", "c"),
			"names 1 offerings, and named 4 at 2026-11-20T11:00:00Z"},
		{"types without offerings", typed(noon, "m"), map[string][]string{"x": {"a", "b"}, "m": {"a"}},
			typed(noon.Add(-time.Hour), "m", "c"), "names 1 offerings"},
		{"a zone less", typed(noon, "m", "c"), map[string][]string{"m": {"a"}, "c": {"a"}}, typed(noon.Add(-time.Hour), "m", "c"),
			"no offering in zone b, and named 2"},
		{"for a day", typed(noon, "m", "c"), map[string][]string{"m": {"a"}}, typed(noon.Add(-24*time.Hour), "m", "c"), ""},
	} {
		err := whole(test.read, test.zonesOf, test.previous)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
}

package day

import (
	"slices"
	"testing"
)

func TestTheLawCountsInstancesInARow(t *testing.T) {
	instance := func(launched float64, served bool) Instance {
		return Instance{Launched: at(launched), Ended: at(launched + 10), Served: served, For: []string{"batch"}}
	}
	waste := Wasted(&Record{Instances: []Instance{
		instance(1, false), instance(4, true), instance(2, false), instance(5, false), instance(3, false),
		{Launched: at(6), For: []string{"batch"}}, // still boots
		{Launched: at(7), Ended: at(8), Replaces: true, For: []string{"batch"}},
	}})
	if want := []Waste{{Workload: "batch", Instances: 4, Row: 3}}; !slices.Equal(waste, want) {
		t.Fatalf("waste %v, want %v", waste, want)
	}
	if err := CheckLaw(waste); err != nil {
		t.Error(err)
	}
	waste[0].Row++
	if err := CheckLaw(waste); err == nil {
		t.Error("four instances in a row pass")
	}
}

func TestAnInstanceCountsForEachOfItsWorkloads(t *testing.T) {
	waste := Wasted(&Record{Instances: []Instance{{Launched: at(1), Ended: at(2), For: []string{"batch", "search"}}}})
	if len(waste) != 2 {
		t.Errorf("waste %v, want that of two workloads", waste)
	}
}

package fidelity_test

import (
	"reflect"
	"testing"

	"github.com/whittle-dev/whittle/testdata/lab/fidelity"
)

func TestJudge(t *testing.T) {
	first := []fidelity.Claim{
		{Name: "a", Node: "node-a", Pods: []string{"x", "y"}, Price: 1},
		{Name: "b", Node: "node-b", Pods: []string{"z"}, Price: 2},
	}
	second := fidelity.Claim{Name: "c", Node: "node-c", Pods: []string{"y"}, Price: 4, Second: true}
	for name, test := range map[string]struct {
		claims []fidelity.Claim
		nodes  map[string]string
		want   fidelity.Result
	}{
		"as planned": {
			first, map[string]string{"x": "node-a", "y": "node-a", "z": "node-b"},
			fidelity.Result{Bursts: 1, Pods: 3, AsPlanned: 1, Nodes: 2, OnTheirNode: 3, Planned: 3, Paid: 3},
		},
		"on one another's nodes": {
			first, map[string]string{"x": "node-b", "y": "node-a", "z": "node-a"},
			fidelity.Result{Bursts: 1, Pods: 3, AsPlanned: 1, Nodes: 2, OnTheirNode: 1, Planned: 3, Paid: 3},
		},
		"a second launch": {
			append(first[:2:2], second), map[string]string{"x": "node-a", "y": "node-c", "z": "node-a"},
			fidelity.Result{
				Bursts: 1, Pods: 3, Relaunched: 1, Nodes: 2, SecondLaunches: 1, OnTheirNode: 1, Planned: 3, Paid: 7,
			},
		},
		"a second launch for nobody": {
			append(first[:2:2], second), map[string]string{"x": "node-a", "y": "node-a", "z": "node-b"},
			fidelity.Result{
				Bursts: 1, Pods: 3, AsPlanned: 1, Relaunched: 1, Nodes: 2, SecondLaunches: 1, OnTheirNode: 3, Planned: 3, Paid: 7,
			},
		},
		"a pod without a place": {
			[]fidelity.Claim{first[0], {Name: "b", Pods: []string{"z"}}}, map[string]string{"x": "node-a", "y": "node-a", "z": ""},
			fidelity.Result{Bursts: 1, Pods: 3, Nodes: 2, OnTheirNode: 2, Unplaced: 1, Planned: 1, Paid: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := fidelity.Judge(test.claims, test.nodes)
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
			twice := got
			twice.Add(got)
			if twice.Bursts != 2 || twice.Pods != 2*got.Pods || twice.Paid != 2*got.Paid ||
				twice.OnTheirNode != 2*got.OnTheirNode {
				t.Errorf("twice that is %+v", twice)
			}
		})
	}
}

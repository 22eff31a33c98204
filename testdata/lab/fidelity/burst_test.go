package fidelity_test

import (
	"reflect"
	"testing"

	"github.com/whittle-dev/whittle/testdata/lab/fidelity"
)

func TestBurstsAreRandomAndRepeatable(t *testing.T) {
	sizes, spread, affine, apart, urgent := map[int]bool{}, 0, 0, 0, 0
	agents := map[fidelity.Agent]int{}
	for seed := range uint64(200) {
		pods := fidelity.Pods("b", seed)
		if len(pods) < 20 || len(pods) > 500 {
			t.Errorf("seed %d makes %d pods", seed, len(pods))
		}
		if !reflect.DeepEqual(pods, fidelity.Pods("b", seed)) {
			t.Errorf("seed %d makes another burst the second time", seed)
		}
		sizes[len(pods)] = true
		agents[fidelity.AgentOf(seed)]++
		names := map[string]bool{}
		for _, pod := range pods {
			names[pod.Name] = true
			if pod.Labels[fidelity.BurstLabel] != "b" || pod.Spec.NodeSelector[fidelity.BurstLabel] != "b" {
				t.Fatalf("pod %s is not of the burst alone", pod.Name)
			}
			if pod.Spec.PriorityClassName != "" {
				urgent++
			}
			affinity := pod.Spec.Affinity
			switch {
			case len(pod.Spec.TopologySpreadConstraints) > 0:
				spread++
			case affinity != nil && affinity.PodAffinity != nil:
				affine++
			case affinity != nil && affinity.PodAntiAffinity != nil:
				apart++
			}
		}
		if len(names) != len(pods) {
			t.Errorf("seed %d gives %d names to %d pods", seed, len(names), len(pods))
		}
	}
	if len(sizes) < 100 || spread == 0 || affine == 0 || apart == 0 || urgent == 0 {
		t.Errorf("%d sizes, %d spread pods, %d with affinity, %d apart, %d urgent", len(sizes), spread, affine, apart, urgent)
	}
	if agents[fidelity.NoAgent] < 80 || agents[fidelity.AgentInTime] < 60 || agents[fidelity.LateAgent] < 10 {
		t.Errorf("agents of 200 bursts: %v", agents)
	}
}

package gangs_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/testdata/lab/gangs"
)

func zones() []string { return []string{"a", "b", "c"} }

func TestGangsAreRandomAndRepeatable(t *testing.T) {
	sizes, inOneZone, inThatZone := map[int]bool{}, 0, 0
	for seed := range uint64(200) {
		gang := gangs.Make("g", seed, zones())
		if !reflect.DeepEqual(gang, gangs.Make("g", seed, zones())) {
			t.Errorf("seed %d makes another gang the second time", seed)
		}
		count := len(gang.Pods)
		if count < 2 || count > 25 {
			t.Errorf("seed %d makes %d pods", seed, count)
		}
		sizes[count] = true
		if least := gang.Group.Object["spec"].(map[string]any)["minMember"]; least != int64(count) {
			t.Errorf("seed %d needs %v of its %d pods", seed, least, count)
		}
		names := map[string]bool{}
		for _, pod := range gang.Pods {
			names[pod.Name] = true
			if pod.Labels[api.PodGroupLabelKey] != "g" || pod.Spec.NodeSelector[gangs.GangLabel] != "g" {
				t.Fatalf("seed %d: the pod %s is not of the gang alone", seed, pod.Name)
			}
		}
		if len(names) != count {
			t.Errorf("seed %d gives %d names to %d pods", seed, len(names), count)
		}
		switch first := gang.Pods[0]; {
		case api.RequiredTopology(first.Annotations) != "":
			inOneZone++
		case len(first.Spec.NodeSelector) > 1:
			inThatZone++
		}
	}
	if len(sizes) < 20 || inOneZone < 40 || inThatZone < 40 {
		t.Errorf("%d sizes, %d gangs in one zone, %d in a zone that they name", len(sizes), inOneZone, inThatZone)
	}
}

func TestShortagesAreRandomAndRepeatable(t *testing.T) {
	types := []string{"s", "m", "l", "xl"}
	short, offerings, outages := 0, 0, 0
	for seed := range uint64(100) {
		made := gangs.Short(seed, types, zones())
		if !reflect.DeepEqual(made, gangs.Short(seed, types, zones())) {
			t.Errorf("seed %d makes another shortage the second time", seed)
		}
		for _, starvation := range made {
			if starvation.InstanceType == "" {
				outages++
			} else {
				short++
			}
		}
		offerings += 2 * len(types) * len(zones())
	}
	if share := float64(short) / float64(offerings); share < 0.65 || share > 0.75 || outages != 25 {
		t.Errorf("%.2f of the offerings are short, and a zone is in %d of 100 shortages", share, outages)
	}
}

func TestJudge(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	for name, test := range map[string]struct {
		pods, bound int
		claims      []gangs.Claim
		want        gangs.Result
		wrong       bool
	}{
		"whole": {
			2, 2, []gangs.Claim{{Launched: at(0), Used: at(5)}, {Launched: at(1), Used: at(9)}},
			gangs.Result{Whole: 1, Nodes: 2, LongestAlone: 8 * time.Second}, false,
		},
		"whole, after a part was returned": {
			2, 2, []gangs.Claim{{Launched: at(0), Gone: at(9)}, {Launched: at(10), Used: at(15)}},
			gangs.Result{Whole: 1, Nodes: 2, Returned: 1, LongestAlone: 9 * time.Second}, false,
		},
		"whole on fewer nodes": {
			2, 2, []gangs.Claim{{Launched: at(0), Used: at(5)}, {Launched: at(1)}},
			gangs.Result{Whole: 1, Nodes: 2, Spare: 1, LongestAlone: 19 * time.Second}, false,
		},
		"nothing": {2, 0, []gangs.Claim{{Name: "without an instance", Gone: at(1)}}, gangs.Result{None: 1}, false},
		"in part": {
			2, 1, []gangs.Claim{{Launched: at(0), Used: at(5)}},
			gangs.Result{InPart: 1, Nodes: 1, LongestAlone: 5 * time.Second}, true,
		},
		"a node that stays": {
			2, 0, []gangs.Claim{{Launched: at(0)}},
			gangs.Result{None: 1, Nodes: 1, Left: 1, LongestAlone: 20 * time.Second}, true,
		},
		"a node that goes too late": {
			2, 0, []gangs.Claim{{Launched: at(-60), Gone: at(1)}},
			gangs.Result{None: 1, Nodes: 1, Returned: 1, LongestAlone: 61 * time.Second}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.want.Gangs, test.want.Pods = 1, test.pods
			got := gangs.Judge(test.pods, test.bound, test.claims, at(20))
			if got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
			if err := got.Check(); (err != nil) != test.wrong {
				t.Errorf("it says %v", err)
			}
			twice := got
			twice.Add(got)
			if twice.Gangs != 2 || twice.Nodes != 2*got.Nodes || twice.InPart != 2*got.InPart ||
				twice.LongestAlone != got.LongestAlone {
				t.Errorf("twice that is %+v", twice)
			}
		})
	}
}

package snapshot_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/snapshot"
)

// spotKey is the spot pool of the tests.
const spotKey = "m5.large:us-east-1a"

// interrupted is a memory of one node that EC2 took back in an hour of a few nodes.
func interrupted(pool string) *catalog.Unavailable {
	var known *catalog.Interruptions
	known = known.With(catalog.SpotSeen{Interrupted: []catalog.SpotNode{{UID: "gone", Pool: pool}}}, catalogtest.Now)
	return &catalog.Unavailable{Interruptions: known}
}

func riskObjects(costs ...string) *snapshot.Objects {
	objects := &snapshot.Objects{NodeClasses: []api.EC2NodeClass{*catalogtest.NodeClass("default")}}
	for i, cost := range costs {
		pool := poolOf(fmt.Sprintf("pool-%d", i), "default")
		if cost != "" {
			pool.Annotations = map[string]string{api.InterruptionCostAnnotationKey: cost}
		}
		objects.NodePools = append(objects.NodePools, pool)
	}
	return objects
}

func assembled(
	t *testing.T, objects *snapshot.Objects, unavailable *catalog.Unavailable, now time.Time,
) *plan.Snapshot {
	t.Helper()
	offer := snapshot.NewOffer(objects, catalogtest.Catalog(t), catalog.Observed{Unavailable: unavailable}, now)
	if len(offer.Unusable) > 0 {
		t.Fatalf("unusable are %+v", offer.Unusable)
	}
	return offer.Assemble(objects, now)
}

// Pools of the same types and cost share a list of types, because the planner reads each list once.
func TestRisksAreInThePricesOfEachPool(t *testing.T) {
	// The last one cannot be read, and counts as the default. InterruptionCost's error says so.
	objects := riskObjects("", "0.48", "0", "0.48", "much")
	calm := assembled(t, objects, nil, catalogtest.Now)
	made := assembled(t, objects, interrupted(spotKey), catalogtest.Now)
	rate := math.Round(1.0/24*1e4) / 1e4
	for pool, cost := range map[string]float64{"pool-1": 0.48, "pool-2": 0, "pool-3": 0.48, "pool-0": -1, "pool-4": -1} {
		found := 0
		for i, typ := range made.InstanceTypes[pool] {
			before := map[string]catalog.Offering{}
			for _, o := range calm.InstanceTypes[pool][i].Offerings {
				before[o.CapacityType+o.Zone] = o
			}
			for _, o := range typ.Offerings {
				was, want := before[o.CapacityType+o.Zone], 0.0
				if typ.Name+":"+o.Zone == spotKey && o.CapacityType == api.CapacityTypeSpot {
					found++
					if want = rate * cost; cost < 0 {
						want = rate * 0.25 * was.InstancePrice()
					}
				}
				if math.Abs(o.Risk-want) > 1e-12 || math.Abs(o.Price-was.Price-want) > 1e-12 || o.Extras != was.Extras {
					t.Fatalf("%s: %s is %+v, want a risk of %v on %+v", pool, typ.Name, o, want, was)
				}
			}
		}
		if found != 1 {
			t.Fatalf("%s has %d offerings of %s", pool, found, spotKey)
		}
	}
	first := func(pool string) *catalog.InstanceType { return &made.InstanceTypes[pool][0] }
	if first("pool-1") != first("pool-3") || first("pool-0") != first("pool-4") || first("pool-0") == first("pool-1") {
		t.Error("pools do not share the lists that are equal, and only those")
	}
	if _, err := objects.NodePools[4].InterruptionCost(); err == nil {
		t.Error("the broken cost has no error")
	}
}

// TestWithoutInterruptionsPlansAreAsBefore compares the JSON of snapshot and plan.
func TestWithoutInterruptionsPlansAreAsBefore(t *testing.T) {
	objects := riskObjects("", "0.48")
	for i := range 12 {
		var pod corev1.Pod
		pod.Namespace, pod.Name = "default", fmt.Sprintf("web-%d", i)
		pod.Spec.Containers = []corev1.Container{{Name: "web", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("900m")},
		}}}
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
		objects.Pods = append(objects.Pods, pod)
	}
	text := func(unavailable *catalog.Unavailable, now time.Time) []byte {
		s := assembled(t, objects, unavailable, now)
		decided := planner.Solve(s)
		if len(decided.NodeClaims) == 0 {
			t.Fatal("nothing is planned")
		}
		made, err := json.Marshal([]any{s, decided})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	hours := interrupted("")
	nodes := []catalog.SpotNode{{UID: "n", Pool: spotKey}}
	for i := range 3 {
		at := catalogtest.Now.Add(time.Duration(i) * time.Hour)
		hours.Interruptions = hours.Interruptions.With(catalog.SpotSeen{Nodes: nodes}, at)
	}
	old := interrupted(spotKey)
	old.Interruptions.Time = catalogtest.Now.Add(-20 * 24 * time.Hour)
	want := text(nil, catalogtest.Now)
	for name, unavailable := range map[string]*catalog.Unavailable{
		"an empty list": {}, "an empty memory": {Interruptions: &catalog.Interruptions{}}, "hours alone": hours,
		"an old interruption": old,
	} {
		if got := text(unavailable, catalogtest.Now); !bytes.Equal(got, want) {
			t.Errorf("%s changes the plan", name)
		}
	}
	got := text(interrupted(spotKey), catalogtest.Now)
	if bytes.Equal(got, want) || !bytes.Contains(got, []byte(`"risk":`)) {
		t.Error("an interruption is in no price")
	}
}

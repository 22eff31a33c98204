package inventory_test

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/inventory"
)

func seen(t *testing.T, instanceType string, memory int64, now time.Time) *catalog.Learned {
	t.Helper()
	learned := &catalog.Learned{}
	if !learned.Observe(instanceType, "ami-1", memory, now) {
		t.Fatal("nothing was seen")
	}
	return learned
}

func TestLearnedCapacities(t *testing.T) {
	now := catalogtest.Now
	if known, err := inventory.Learned(t.Context(), as(t, "provision")); err != nil || len(known.Capacities) != 0 {
		t.Fatalf("before anything was seen there is %v, %v", known, err)
	}
	const nodes = 4
	var group sync.WaitGroup
	for i := range nodes {
		group.Go(func() {
			client, err := controlPlane.ClientOf("whittle:lifecycle")
			if err == nil {
				_, err = inventory.PutLearned(t.Context(), client, seen(t, fmt.Sprintf("m%d.large", i), 8e9, now), now)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	known, err := inventory.Learned(t.Context(), as(t, "provision"))
	if err != nil || len(known.Capacities) != nodes {
		t.Fatalf("%d nodes were seen at once, %v is known: %v", nodes, known.Capacities, err)
	}
	version := func() string {
		stored, err := as(t, "lifecycle").ConfigMap(t.Context(), "whittle-learned-capacity")
		if err != nil || stored == nil {
			t.Fatalf("%v, %v", stored, err)
		}
		return stored.ResourceVersion
	}
	before := version()
	if _, err := inventory.PutLearned(
		t.Context(), as(t, "lifecycle"), seen(t, "m1.large", 8e9, now.Add(time.Hour)), now,
	); err != nil {
		t.Fatal(err)
	}
	if version() != before {
		t.Error("what is known already was written again")
	}
	merged, err := inventory.PutLearned(t.Context(), as(t, "lifecycle"), seen(t, "m1.large", 7e9, now), now)
	if err != nil || version() == before {
		t.Errorf("less memory was not written: %v", err)
	}
	if known, err := inventory.Learned(t.Context(), as(t, "provision")); err != nil || !reflect.DeepEqual(known, merged) {
		t.Errorf("%v is read, %v was written: %v", known, merged, err)
	}
	if memory, ok := merged.Memory("m1.large", "ami-1", now); !ok || memory != 7e9 {
		t.Errorf("m1.large has %d (%v)", memory, ok)
	}
	// What has not been seen for long goes with the next write.
	later := now.Add(catalog.LearnedFor)
	if merged, err = inventory.PutLearned(
		t.Context(), as(t, "lifecycle"), seen(t, "c9.large", 4e9, later), later,
	); err != nil || len(merged.Capacities) != 1 {
		t.Errorf("%v, %v", merged, err)
	}
}

func TestReservationCounts(t *testing.T) {
	now := catalogtest.Now
	if err := inventory.PutReservations(t.Context(), as(t, "lifecycle"), nil, now); err != nil {
		t.Fatal(err)
	}
	if stored, err := as(t, "lifecycle").ConfigMap(t.Context(), "whittle-capacity-reservations"); stored != nil ||
		err != nil {
		t.Fatalf("without reservations there is %v, %v", stored, err)
	}
	for _, put := range []struct {
		counts map[string]int
		read   time.Time
	}{
		{map[string]int{"cr-1": 5, "cr-2": 2}, now},
		{map[string]int{"cr-1": 3}, now.Add(time.Minute)},
		{map[string]int{"cr-1": 9, "cr-3": 0}, now.Add(-time.Minute)}, // who reads first may write last
	} {
		if err := inventory.PutReservations(t.Context(), as(t, "lifecycle"), put.counts, put.read); err != nil {
			t.Fatal(err)
		}
	}
	counts, err := inventory.Reservations(t.Context(), as(t, "provision"))
	want := map[string]catalog.ReservationCount{
		"cr-1": {Available: 3, Time: now.Add(time.Minute)}, "cr-2": {Available: 2, Time: now},
		"cr-3": {Available: 0, Time: now.Add(-time.Minute)},
	}
	if err != nil || !reflect.DeepEqual(counts, want) {
		t.Errorf("%v, %v, want %v", counts, err, want)
	}
	if got := catalog.Available(counts, nil); !reflect.DeepEqual(got, map[string]int{"cr-1": 3, "cr-2": 2, "cr-3": 0}) {
		t.Errorf("available are %v", got)
	}
	// A reservation that is counted no more is forgotten.
	if err := inventory.PutReservations(
		t.Context(), as(t, "provision"), map[string]int{"cr-4": 1}, now.Add(24*time.Hour),
	); err != nil {
		t.Fatal(err)
	}
	if counts, err = inventory.Reservations(t.Context(), as(t, "disrupt")); err != nil || len(counts) != 2 {
		t.Errorf("%v, %v, want cr-1 and cr-4", counts, err)
	}
}

func TestWhatCannotBeReadIsObservedAgain(t *testing.T) {
	for name, key := range map[string]string{
		"whittle-learned-capacity": "capacities.json", "whittle-capacity-reservations": "reservations.json",
	} {
		for _, text := range []string{"{", "null", "[]", ""} {
			object := &corev1.ConfigMap{Data: map[string]string{key: text}}
			object.Name = name
			put(t, object)
			learned, err := inventory.Learned(t.Context(), as(t, "provision"))
			if err != nil || name == "whittle-learned-capacity" && len(learned.Capacities) != 0 {
				t.Errorf("%q: %v, %v", text, learned, err)
			}
			counts, err := inventory.Reservations(t.Context(), as(t, "provision"))
			if err != nil || counts == nil || name == "whittle-capacity-reservations" && len(counts) != 0 {
				t.Errorf("%q: %v, %v", text, counts, err)
			}
		}
	}
	now := catalogtest.Now
	if _, err := inventory.PutLearned(t.Context(), as(t, "lifecycle"), seen(t, "m5.large", 8e9, now), now); err != nil {
		t.Error(err)
	}
	if err := inventory.PutReservations(t.Context(), as(t, "lifecycle"), map[string]int{"cr-1": 1}, now); err != nil {
		t.Error(err)
	}
}

func TestObservationsNeedRights(t *testing.T) {
	now := catalogtest.Now
	if _, err := inventory.Learned(t.Context(), as(t, "ticker")); !apierrors.IsForbidden(err) {
		t.Errorf("error is %v", err)
	}
	if _, err := inventory.PutLearned(
		t.Context(), as(t, "ticker"), seen(t, "m5.large", 8e9, now), now,
	); !apierrors.IsForbidden(err) {
		t.Errorf("error is %v", err)
	}
	if _, err := inventory.Reservations(t.Context(), as(t, "ticker")); !apierrors.IsForbidden(err) {
		t.Errorf("error is %v", err)
	}
	if err := inventory.PutReservations(
		t.Context(), as(t, "ticker"), map[string]int{"cr-1": 1}, now,
	); !apierrors.IsForbidden(err) {
		t.Errorf("error is %v", err)
	}
}

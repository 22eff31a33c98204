package cluster_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/cluster"
)

var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// acquire tries to take the Lease. Functions may take those of their own names only, so the tests are administrators.
func acquire(t *testing.T, name, holder string, now, deadline time.Time) *cluster.Lease {
	t.Helper()
	function, err := controlPlane.Client()
	if err != nil {
		t.Fatal(err)
	}
	lease, err := function.AcquireLease(t.Context(), name, holder, now, deadline)
	if err != nil {
		t.Fatalf("%s: %v", holder, err)
	}
	return lease
}

func TestALeaseHasOneHolderAtATime(t *testing.T) {
	lease := acquire(t, "one", "a", noon, noon.Add(10*time.Second))
	if lease == nil {
		t.Fatal("a lease that nobody had was refused")
	}
	if acquire(t, "one", "b", noon.Add(9*time.Second), noon.Add(20*time.Second)) != nil {
		t.Error("b has it while a holds it")
	}
	if acquire(t, "one", "a", noon.Add(5*time.Second), noon.Add(10*time.Second)) == nil {
		t.Error("a, asked again, lost what it holds")
	}
	if acquire(t, "another", "b", noon, noon.Add(time.Second)) == nil {
		t.Error("a lease of another name was refused")
	}
}

func TestALeaseIsTakenOverAfterItsTime(t *testing.T) {
	slow := acquire(t, "late", "slow", noon, noon.Add(10*time.Second))
	next := acquire(t, "late", "next", noon.Add(17*time.Second), noon.Add(27*time.Second))
	if next == nil {
		t.Fatal("a holder that died keeps the lease for ever")
	}
	// The slow holder releases a Lease that is no longer its own.
	if err := slow.Release(t.Context()); err != nil {
		t.Errorf("releasing a lease that was taken over: %v", err)
	}
	if acquire(t, "late", "third", noon.Add(18*time.Second), noon.Add(28*time.Second)) != nil {
		t.Error("the slow holder gave away the lease of the next")
	}
}

func TestAReleasedLeaseIsFreeAtOnce(t *testing.T) {
	lease := acquire(t, "released", "a", noon, noon.Add(time.Minute))
	for range 2 { // the second release finds it released already
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if acquire(t, "released", "b", noon.Add(time.Millisecond), noon.Add(time.Minute)) == nil {
		t.Error("a released lease is held until its deadline")
	}
}

func TestAHolderThatIsAskedForAnotherPassKeepsTheLease(t *testing.T) {
	asker, err := controlPlane.Client()
	if err != nil {
		t.Fatal(err)
	}
	ask := func(now time.Time) {
		t.Helper()
		if err := asker.AskHolder(t.Context(), "asked", now); err != nil {
			t.Fatal(err)
		}
	}
	free := func(now time.Time) bool {
		t.Helper()
		return acquire(t, "asked", "another", now, now.Add(time.Minute)) != nil
	}
	ask(noon) // there is no such lease yet
	lease := acquire(t, "asked", "a", noon, noon.Add(time.Minute))
	for second := range 2 { // each request counts once
		ask(noon.Add(time.Duration(second) * time.Second))
		ask(noon.Add(time.Duration(second)*time.Second + time.Millisecond))
		if asked, err := lease.ReleaseUnlessAsked(t.Context()); !asked || err != nil {
			t.Fatalf("asked %v, %v, want it to have been asked", asked, err)
		}
		if free(noon.Add(2 * time.Second)) {
			t.Fatal("the holder lost the lease by being asked")
		}
	}
	if asked, err := lease.ReleaseUnlessAsked(t.Context()); asked || err != nil {
		t.Errorf("asked %v, %v, but nobody asked once more", asked, err)
	}
	ask(noon.Add(3 * time.Second)) // nobody holds it
	taken := acquire(t, "asked", "b", noon.Add(4*time.Second), noon.Add(time.Minute))
	if taken == nil {
		t.Fatal("a released lease is held until its deadline")
	}
	ask(noon.Add(5 * time.Second))
	if err := taken.Release(t.Context()); err != nil || !free(noon.Add(6*time.Second)) {
		t.Errorf("%v: a holder without time to look again keeps the lease", err)
	}
}

func TestOfTwoAtOnceOneGetsTheLease(t *testing.T) {
	for round := range 5 {
		// Odd rounds use an existing free Lease, even rounds a new one.
		name := fmt.Sprintf("race-%d", round/2)
		now := noon.Add(time.Duration(round) * time.Hour)
		const contenders = 8
		won := make([]*cluster.Lease, contenders)
		var group sync.WaitGroup
		for i := range contenders {
			group.Go(func() {
				function, err := controlPlane.Client()
				if err == nil {
					won[i], err = function.AcquireLease(t.Context(), name, fmt.Sprintf("contender-%d", i), now, now.Add(time.Minute))
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		winners := 0
		for _, lease := range won {
			if lease != nil {
				winners++
			}
		}
		if winners != 1 {
			t.Errorf("round %d: %d hold the lease, want one", round, winners)
		}
	}
}

func TestAConfigMapThatWasWrittenMeanwhileIsAConflict(t *testing.T) {
	function, err := controlPlane.Client()
	if err != nil {
		t.Fatal(err)
	}
	if stored, err := function.ConfigMap(t.Context(), "memory"); err != nil || stored != nil {
		t.Fatalf("a configmap that is not there: %v, %v", stored, err)
	}
	fresh := func(value string) *corev1.ConfigMap {
		made := &corev1.ConfigMap{Data: map[string]string{"key": value}}
		made.Name = "memory"
		return made
	}
	if err := function.PutConfigMap(t.Context(), fresh("first")); err != nil {
		t.Fatal(err)
	}
	if err := function.PutConfigMap(t.Context(), fresh("second")); !cluster.IsConflict(err) {
		t.Errorf("creating what is there: %v, want a conflict", err)
	}
	one, err := function.ConfigMap(t.Context(), "memory")
	if err != nil {
		t.Fatal(err)
	}
	other := one.DeepCopy()
	one.Data["key"], other.Data["key"] = "one", "other"
	if err := function.PutConfigMap(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	if err := function.PutConfigMap(t.Context(), other); !cluster.IsConflict(err) {
		t.Errorf("replacing what was replaced meanwhile: %v, want a conflict", err)
	}
	stored, err := function.ConfigMap(t.Context(), "memory")
	if err != nil || stored.Data["key"] != "one" || stored.Namespace != cluster.Namespace {
		t.Errorf("%v, %v", stored, err)
	}
}

func TestTheSameEventIsWrittenOncePerWindow(t *testing.T) {
	about := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: "wanting", UID: "1"}
	event := cluster.Event{About: about, Type: corev1.EventTypeWarning, Reason: "FailedScheduling", Message: "no room"}
	record := func(event cluster.Event, at time.Time) {
		t.Helper()
		if err := client(t).Record(t.Context(), event, at); err != nil {
			t.Fatal(err)
		}
	}
	count := func() int {
		t.Helper()
		events, err := client(t).Events(t.Context(), "Pod", "FailedScheduling")
		if err != nil {
			t.Fatal(err)
		}
		matching := 0
		for _, event := range events {
			if event.InvolvedObject.Name == about.Name && event.ReportingController == cluster.FieldManager {
				matching++
			}
		}
		return matching
	}
	record(event, noon)
	record(event, noon.Add(4*time.Minute))
	if got := count(); got != 1 {
		t.Errorf("%d events, want one in a window of five minutes", got)
	}
	record(event, noon.Add(5*time.Minute))
	other := event
	other.Message = "no room elsewhere"
	record(other, noon)
	if got := count(); got != 3 {
		t.Errorf("%d events, want the next window's and the other message too", got)
	}
}

func TestEventsAboutObjectsWithoutANamespaceAndWithLongNames(t *testing.T) {
	for _, about := range []corev1.ObjectReference{
		{APIVersion: "karpenter.sh/v1", Kind: "NodePool", Name: "general", UID: "2"},
		{APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: longName(), UID: "3"},
	} {
		err := client(t).Record(t.Context(), cluster.Event{About: about, Type: corev1.EventTypeWarning, Reason: "Test",
			Message: "m"}, noon)
		if err != nil {
			t.Errorf("%s %.20s: %v", about.Kind, about.Name, err)
		}
		events, err := client(t).Events(t.Context(), about.Kind, "Test")
		if err != nil || len(events) != 1 || events[0].InvolvedObject.Name != about.Name {
			t.Errorf("%s %.20s: %d events, %v", about.Kind, about.Name, len(events), err)
		}
	}
}

// longName has the greatest length of a pod's name, with a hyphen where a simple cut would leave it
// last.
func longName() string {
	name := make([]byte, 253)
	for i := range name {
		name[i] = 'a'
		if i%2 == 1 && i < 252 {
			name[i] = '-'
		}
	}
	return string(name)
}

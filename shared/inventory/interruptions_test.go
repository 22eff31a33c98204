package inventory_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/inventory"
)

const spotPool = "m5.large:us-east-1a"

func lost(uids ...string) catalog.SpotSeen {
	var seen catalog.SpotSeen
	for _, uid := range uids {
		seen.Interrupted = append(seen.Interrupted, catalog.SpotNode{UID: uid, Pool: spotPool})
	}
	return seen
}

// Passes at once see the same nodes, and each sees one that no other does.
func TestAnInterruptionThatSeveralPassesSeeCountsOnce(t *testing.T) {
	now := catalogtest.Now
	put(t, withOfferings(`{}`))
	const passes = 4
	var group sync.WaitGroup
	for i := range passes {
		group.Go(func() {
			client, err := controlPlane.ClientOf("whittle:lifecycle")
			if err == nil {
				_, err = inventory.CountInterruptions(t.Context(), client, lost("common", fmt.Sprintf("own-%d", i)), now)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	marks := &catalog.Unavailable{}
	marks.Mark("spot", "m5.large", "us-east-1a", now)
	if err := inventory.MarkUnavailable(t.Context(), as(t, "interrupt"), marks, now); err != nil {
		t.Fatal(err)
	}
	known, err := inventory.Unavailable(t.Context(), as(t, "provision"))
	if err != nil {
		t.Fatal(err)
	}
	if got := known.Interruptions.Pools[spotPool].Interrupted; got != passes+1 {
		t.Errorf("%d nodes are %v interruptions", passes+1, got)
	}
	if !known.Has("spot", "m5.large", "us-east-1a", now) {
		t.Error("the mark is lost")
	}
}

// The write has its effect, and its answer is lost: the next pass, in any container, adds nothing.
func TestACountWhoseAnswerIsLostIsNotRepeated(t *testing.T) {
	now := catalogtest.Now
	put(t, withOfferings(`{}`))
	dying := answerless{as(t, "lifecycle")}
	if _, err := inventory.CountInterruptions(t.Context(), dying, lost("a", "b"), now); err == nil {
		t.Fatal("the lost answer is no error")
	}
	for range 3 {
		known, err := inventory.CountInterruptions(t.Context(), as(t, "lifecycle"), lost("a", "b"), now)
		if err != nil || known.Pools[spotPool].Interrupted != 2 {
			t.Fatalf("%+v, %v, want two interruptions", known, err)
		}
	}
}

func TestAMemoryThatCannotBeReadBeginsAgain(t *testing.T) {
	now := catalogtest.Now
	for _, text := range []string{
		`{`, `{"interruptions":"none"}`, `{"interruptions":{"pools":[1]}}`, `{"interruptions":null}`,
	} {
		put(t, withOfferings(text))
		known, err := inventory.CountInterruptions(t.Context(), as(t, "lifecycle"), lost("a"), now)
		if err != nil || known.Pools[spotPool].Interrupted != 1 {
			t.Errorf("%s: %+v, %v", text, known, err)
		}
	}
}

// What lacks nothing writes nothing.
func TestACountThatAddsNothingWritesNothing(t *testing.T) {
	now := catalogtest.Now
	put(t, withOfferings(`{}`))
	client := as(t, "lifecycle")
	if _, err := inventory.CountInterruptions(t.Context(), client, lost("a"), now); err != nil {
		t.Fatal(err)
	}
	version := func() string {
		stored, err := client.ConfigMap(t.Context(), "whittle-unavailable-offerings")
		if err != nil {
			t.Fatal(err)
		}
		return stored.ResourceVersion
	}
	before := version()
	for _, seen := range []catalog.SpotSeen{{}, lost("a")} {
		if _, err := inventory.CountInterruptions(t.Context(), client, seen, now.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if version() != before {
		t.Error("it is written")
	}
}

func withOfferings(text string) *corev1.ConfigMap {
	object := &corev1.ConfigMap{Data: map[string]string{"offerings.json": text}}
	object.Name = "whittle-unavailable-offerings"
	return object
}

// answerless writes, and loses the answer.
type answerless struct{ *cluster.Client }

func (s answerless) PutConfigMap(ctx context.Context, object *corev1.ConfigMap) error {
	return errors.Join(s.Client.PutConfigMap(ctx, object), errors.New("connection reset"))
}

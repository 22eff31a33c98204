package history_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/whittle-dev/whittle/functions/console/history"
	"github.com/whittle-dev/whittle/functions/console/terminal"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func event(uid, kind, namespace, name, reason string, count int32, after time.Duration) corev1.Event {
	return corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{UID: types.UID(uid), CreationTimestamp: metav1.Time{Time: noon}},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: namespace, Name: name},
		Type:           corev1.EventTypeNormal, Reason: reason, Message: "it \x1b[31mhappened", Count: count,
		LastTimestamp: metav1.Time{Time: noon.Add(after)},
	}
}

func TestEntriesAreInOrder(t *testing.T) {
	events := []corev1.Event{
		event("3", "NodeClaim", "", "c", "Launched", 1, 3*time.Second), event("1", "Pod", "shop", "web", "Nominated", 2, 1*time.Second),
		event("2", "Pod", "other", "db", "Nominated", 1, 2*time.Second),
	}
	for name, test := range map[string]struct {
		selection history.Selection
		want      string
	}{
		"all":       {history.Selection{}, "pod/shop/web pod/other/db nodeclaim/c"},
		"namespace": {history.Selection{Namespace: "shop"}, "pod/shop/web"},
		"since":     {history.Selection{Since: noon.Add(2 * time.Second)}, "pod/other/db nodeclaim/c"},
	} {
		var objects []string
		for _, entry := range history.Of(events, test.selection) {
			objects = append(objects, entry.Object)
		}
		if got := strings.Join(objects, " "); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	var text strings.Builder
	shop := history.Selection{Namespace: "shop"}
	if err := history.Write(&text, history.Of(events, shop), shop, terminal.Style{}); err != nil {
		t.Fatal(err)
	}
	want := "2026-03-01 12:00:01  planned       Nominated                 pod/shop/web                          it " +
		"[31mhappened (2 times)\n"
	if text.String() != want {
		t.Errorf("%q, want %q", text.String(), want)
	}
}

// TestAFollowerTellsEachEntryOnce lists like an API server whose events repeat and expire.
func TestAFollowerTellsEachEntryOnce(t *testing.T) {
	a, b := event("a", "Pod", "x", "a", "Nominated", 1, 0), event("b", "Pod", "x", "b", "Nominated", 1, time.Second)
	again := event("a", "Pod", "x", "a", "Nominated", 2, 2*time.Second)
	follower := history.NewFollower()
	for i, step := range []struct {
		listed []corev1.Event
		want   int
	}{
		{[]corev1.Event{a}, 1}, {[]corev1.Event{a}, 0}, {[]corev1.Event{a, b}, 1}, {[]corev1.Event{again, b}, 1},
		{[]corev1.Event{b}, 0}, {nil, 0},
	} {
		if got := follower.New(history.Of(step.listed, history.Selection{})); len(got) != step.want {
			t.Errorf("step %d tells %+v, want %d entries", i, got, step.want)
		}
	}
}

// TestAStoryIsReadInOrder has a node's life within one second, and the pods of its drain in one line.
func TestAStoryIsReadInOrder(t *testing.T) {
	events := []corev1.Event{
		event("1", "NodeClaim", "", "c", "Terminated", 1, time.Second), event("2", "NodeClaim", "", "c", "Initialized", 1, 0),
		event("3", "NodeClaim", "", "c", "Launched", 1, 0), event("4", "NodeClaim", "", "c", "Registered", 1, 0),
	}
	for _, name := range []string{"a", "b", "d", "e", "f"} {
		events = append(events, event("pod-"+name, "Pod", "shop", name, "Evicted", 1, time.Second))
	}
	for _, each := range []bool{false, true} {
		selection := history.Selection{Each: each}
		var text strings.Builder
		if err := history.Write(&text, history.Of(events, selection), selection, terminal.Style{}); err != nil {
			t.Fatal(err)
		}
		var reasons []string
		for line := range strings.Lines(text.String()) {
			reasons = append(reasons, strings.Fields(line)[3])
		}
		want := "Launched Registered Initialized Evicted Terminated"
		if each {
			want = "Launched Registered Initialized Evicted Evicted Evicted Evicted Evicted Terminated"
		} else if !strings.Contains(text.String(), "5 pods were evicted, the last is pod/shop/f") {
			t.Errorf("no line for five pods:\n%s", text.String())
		}
		if got := strings.Join(reasons, " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

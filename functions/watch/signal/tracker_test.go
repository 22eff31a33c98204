package signal_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/whittle-dev/whittle/functions/watch/signal"
)

// change is one change of an object in JSON.
type change struct {
	kind   signal.Kind
	object string
	want   []signal.Wake
}

func TestChangesWakeThoseWhoHaveWork(t *testing.T) {
	const (
		ours     = `"taints":[{"key":"karpenter.sh/unregistered","effect":"NoExecute"}]`
		person   = `"uid":"1","name":"by-hand"`
		whittles = `"uid":"1","annotations":{"karpenter.sh/nodepool-hash":"7"}`
	)
	claims, all := []signal.Wake{signal.WakeClaims}, []signal.Wake{signal.WakeAll}
	for _, test := range []struct {
		name    string
		source  signal.Source
		changes []change
	}{
		{"a pod that the scheduler binds at once", signal.UnboundPods, []change{
			{signal.Added, `{"metadata":{"uid":"1","resourceVersion":"1"}}`, nil},
			{signal.Deleted, `{"metadata":{"uid":"1","resourceVersion":"2"}}`, nil},
		}},
		{"a pod for which the scheduler finds no node", signal.UnboundPods, []change{
			{signal.Added, `{"metadata":{"uid":"1","resourceVersion":"1"}}`, nil},
			{signal.Modified, `{"metadata":{"uid":"1","resourceVersion":"2"}}`, []signal.Wake{signal.WakePods}},
			{signal.Modified, `{"metadata":{"uid":"1","resourceVersion":"3","deletionTimestamp":"2026-01-01T00:00:00Z"}}`, nil},
		}},
		{"a pod whose node starts, while other nodes join", signal.UnboundPods, []change{
			{signal.Added, `{"metadata":{"uid":"1","resourceVersion":"1"}}`, nil},
			{signal.Modified, `{"metadata":{"uid":"1","resourceVersion":"2"}}`, []signal.Wake{signal.WakePods}},
			{signal.Modified, `{"metadata":{"uid":"1","resourceVersion":"3"}}`, []signal.Wake{signal.WakePods}},
			{signal.Modified, `{"metadata":{"uid":"1","resourceVersion":"4"}}`, nil},
		}},
		{"a node that joins", signal.StartingNodes, []change{
			{signal.Added, `{"metadata":{"uid":"1"},"spec":{` + ours + `}}`, claims},
			{signal.Modified, `{"metadata":{"uid":"1","resourceVersion":"2"},"spec":{` + ours + `}}`, nil},
			{signal.Modified, `{"metadata":{"uid":"1"},"spec":{"providerID":"aws:///z/i-1",` + ours + `}}`, claims},
			{signal.Modified, `{"metadata":{"uid":"1","labels":{"karpenter.sh/registered":"true"}},
				"spec":{"providerID":"aws:///z/i-1"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, claims},
			{signal.Modified, `{"metadata":{"uid":"1","labels":{"karpenter.sh/registered":"true"},"annotations":{"a":"b"}},
				"spec":{"providerID":"aws:///z/i-1"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, nil},
			{signal.Modified, `{"metadata":{"uid":"1","labels":{"karpenter.sh/registered":"true"},
				"deletionTimestamp":"2026-01-01T00:00:00Z"}}`, all},
		}},
		{"a node of a managed node group", signal.StartingNodes, []change{
			{signal.Added, `{"metadata":{"uid":"1","labels":{"eks.amazonaws.com/nodegroup":"system"}}}`, nil},
			{signal.Modified, `{"metadata":{"uid":"1"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, nil},
		}},
		{"a node that a person deletes", signal.StartedNodes, []change{
			{signal.Modified, `{"metadata":{"uid":"1"}}`, nil},
			{signal.Modified, `{"metadata":{"uid":"1","deletionTimestamp":"2026-01-01T00:00:00Z"}}`, all},
			{signal.Modified, `{"metadata":{"uid":"1","deletionTimestamp":"2026-01-01T00:00:00Z","labels":{"a":"b"}}}`, nil},
		}},
		{"a claim that a person creates", signal.NodeClaims, []change{
			{signal.Added, `{"metadata":{` + person + `}}`, []signal.Wake{signal.WakePlan}},
			{signal.Modified, `{"metadata":{` + person + `},"status":{"conditions":[{"type":"Launched","status":"True"}]}}`, nil},
			{signal.Modified, `{"metadata":{` + person + `,"deletionTimestamp":"2026-01-01T00:00:00Z"}}`, claims},
			{signal.Deleted, `{"metadata":{` + person + `}}`, nil},
		}},
		{"a claim of provision", signal.NodeClaims, []change{
			{signal.Added, `{"metadata":{` + whittles + `}}`, nil},
			{signal.Modified, `{"metadata":{` + whittles + `},"status":{"conditions":[{"type":"Initialized","status":"True"}]}}`, nil},
		}},
		{"a replacement that is ready", signal.NodeClaims, []change{
			{signal.Added, `{"metadata":{"uid":"1","annotations":{"karpenter.sh/nodepool-hash":"7","whittle.dev/replaces":"a"}}}`, nil},
			{signal.Modified, `{"metadata":{"uid":"1","annotations":{"karpenter.sh/nodepool-hash":"7","whittle.dev/replaces":"a"}},
				"status":{"conditions":[{"type":"Initialized","status":"True"}]}}`, []signal.Wake{signal.WakeReplacements}},
		}},
		{"a class that a person mends", signal.NodeClasses, []change{
			{signal.Added, `{"metadata":{"uid":"1","generation":1}}`, all},
			{signal.Modified, `{"metadata":{"uid":"1","generation":1},"status":{"conditions":[{"type":"Ready","status":"False"}]}}`, nil},
			{signal.Modified, `{"metadata":{"uid":"1","generation":2},"status":{"conditions":[{"type":"Ready","status":"False"}]}}`, all},
			{signal.Modified, `{"metadata":{"uid":"1","generation":2},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
				[]signal.Wake{signal.WakePlan}},
		}},
		{"the sum of a pool's nodes", signal.NodePools, []change{
			{signal.Added, `{"metadata":{"uid":"1","generation":1},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
				[]signal.Wake{signal.WakeAll, signal.WakePlan}},
			{signal.Modified, `{"metadata":{"uid":"1","generation":1,"resourceVersion":"9"},
				"status":{"nodes":3,"conditions":[{"type":"Ready","status":"True"}]}}`, nil},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			tracker := signal.NewTracker()
			for i, change := range test.changes {
				if got := tracker.Observe(test.source, change.kind, parse(t, change.object)); !slices.Equal(got, change.want) {
					t.Errorf("change %d wakes %v, want %v", i+1, got, change.want)
				}
			}
		})
	}
}

func parse(t *testing.T, text string) *signal.Object {
	t.Helper()
	var object signal.Object
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return &object
}

func TestWhatIsKnownAtTheStartIsNoNews(t *testing.T) {
	tracker := signal.NewTracker()
	pool := parse(t, `{"metadata":{"uid":"1","generation":3},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	tracker.Learn(signal.NodePools, pool)
	if got := tracker.Observe(signal.NodePools, signal.Modified, pool); len(got) != 0 {
		t.Errorf("an unchanged pool wakes %v", got)
	}
	pool.Metadata.Generation = 4
	if got := tracker.Observe(signal.NodePools, signal.Modified, pool); !slices.Contains(got, signal.WakeAll) {
		t.Errorf("a changed pool wakes %v", got)
	}
}

func TestAnObjectThatLeftIsForgotten(t *testing.T) {
	tracker := signal.NewTracker()
	pod := parse(t, `{"metadata":{"uid":"1","resourceVersion":"1"}}`)
	tracker.Observe(signal.UnboundPods, signal.Added, pod)
	if tracker.Known() != 1 {
		t.Fatalf("the tracker knows %d objects", tracker.Known())
	}
	tracker.Observe(signal.UnboundPods, signal.Deleted, pod)
	if tracker.Known() != 0 {
		t.Errorf("the tracker still knows %d objects", tracker.Known())
	}
}

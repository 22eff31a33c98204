package day

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/testdata/lab/kubernetes"
)

// at is a moment of a day that began at midnight.
func at(seconds float64) time.Time {
	return time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

func TestDollarsCountTheDayOnly(t *testing.T) {
	r := &Record{Began: at(0), Ended: at(3600), Instances: []Instance{
		{ID: "i-1", PricePerHour: 0.20, Launched: at(0)},
		{ID: "i-2", PricePerHour: 0.20, Launched: at(1800), Ended: at(2700), Served: true},
	}}
	if got := Evaluate(r).Dollars; math.Abs(got-0.25) > 1e-9 {
		t.Errorf("the day costs $%.4f, want $0.2500", got)
	}
}

func TestSamplesLastUntilTheNext(t *testing.T) {
	r := &Record{Began: at(0), Ended: at(120), Samples: []Sample{
		{At: at(0), Processors: 8, Requested: 2, Empty: 1, Limited: 4}, {At: at(60), Processors: 4, Requested: 4},
	}}
	f := Evaluate(r)
	if f.Ratio != 2 || f.EmptyMinutes != 1 || f.Limited != 2 {
		t.Errorf("ratio %.2f, %.2f empty minutes, %.2f pods, want 2, 1 and 2", f.Ratio, f.EmptyMinutes, f.Limited)
	}
}

func TestPodsWaitUntilTheyAreBound(t *testing.T) {
	r := &Record{Began: at(0), Ended: at(100), Pods: []Pod{
		{Workload: "search", Created: at(10), Bound: at(12), Gone: at(50)},
		{Workload: "search", Created: at(10), Gone: at(15)},
		{Workload: "search", Created: at(90)},
		{Workload: reports, Created: at(0)},
	}}
	want := []time.Duration{2 * time.Second, 5 * time.Second, 10 * time.Second}
	if got := r.waits(); !slices.Equal(got, want) {
		t.Errorf("the pods waited %v, want %v", got, want)
	}
	f := Evaluate(r)
	if f.PendingMedian != 5*time.Second || f.PendingWorst != 10*time.Second {
		t.Errorf("percentiles %s and %s, want 5 s and 10 s", f.PendingMedian, f.PendingWorst)
	}
}

func TestASuccessorThatIsEvictedSoonCountsTwice(t *testing.T) {
	r := &Record{
		Began: at(0), Ended: at(1000),
		Pods: []Pod{
			{Name: "web-a", Workload: "web", Created: at(0)},
			{Name: "web-b", Workload: "web", Created: at(101)},
			{Name: "web-c", Workload: "web", Created: at(0)},
			{Name: "ledger-0", Workload: "ledger", Created: at(0)},
			{Name: "ledger-0", Workload: "ledger", Created: at(101)},
		},
		Evictions: []Eviction{
			{At: at(100), Pod: "web-a"}, {At: at(102), Pod: "web-a"}, // refused by nobody, and repeated
			{At: at(120), Pod: "web-b"}, {At: at(121), Pod: "web-c"}, {At: at(100), Pod: "ledger-0"},
			{At: at(400), Pod: "ledger-0"}, {At: at(130), Pod: "agent-x"},
		},
	}
	f := Evaluate(r)
	if f.Evictions != 5 || f.Twice != 1 {
		t.Errorf("%d evictions, %d of them again, want 5 and 1", f.Evictions, f.Twice)
	}
}

func TestARenewalEndsWithTheLastOldNode(t *testing.T) {
	r := &Record{Began: at(0), Ended: at(1000), Changed: at(500), Instances: []Instance{
		{Pool: openPool, Old: true, Ended: at(400)}, {Pool: openPool, Old: true, Ended: at(560)},
		{Pool: openPool, Ended: at(900)}, {Pool: fullPool, Old: true},
	}}
	f := Evaluate(r)
	if f.Renewed != (Renewal{Took: time.Minute}) {
		t.Errorf("the open pool took %v, want a minute", f.Renewed)
	}
	if f.RenewedFull != (Renewal{Took: 500 * time.Second, Left: 1}) {
		t.Errorf("the full pool took %v, want one node that is left", f.RenewedFull)
	}
}

func TestAcceptedRemovalsAreEvictions(t *testing.T) {
	request := func(verb, resource string, status int, when float64) kubernetes.Request {
		return kubernetes.Request{
			At: at(when), Verb: verb, Resource: resource, Namespace: namespace, Name: "web-a", Status: status,
		}
	}
	got := evictions([]kubernetes.Request{
		request("create", "pods/eviction", 201, 10), request("create", "pods/eviction", 429, 11),
		request("delete", "pods", 200, 12), request("delete", "nodes", 200, 13), request("create", "pods/eviction", 201, 99),
	}, at(0), at(50))
	if want := []Eviction{{at(10), "web-a"}, {at(12), "web-a"}}; !slices.Equal(got, want) {
		t.Errorf("evictions %v, want %v", got, want)
	}
}

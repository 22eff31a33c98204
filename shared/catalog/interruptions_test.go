package catalog_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/catalog"
	"github.com/whittle-dev/whittle/shared/catalog/catalogtest"
)

const m5a, c5b = "m5.large:us-east-1a", "c5.large:us-east-1b"

// spotNodes are nodes of a spot pool with the UIDs prefix-0, prefix-1 and so on.
func spotNodes(prefix, pool string, count int) []catalog.SpotNode {
	nodes := make([]catalog.SpotNode, count)
	for i := range nodes {
		nodes[i] = catalog.SpotNode{UID: fmt.Sprintf("%s-%d", prefix, i), Pool: pool}
	}
	return nodes
}

// ran is the memory after the hours of these nodes, counted each hour.
func ran(hours int, nodes []catalog.SpotNode) (*catalog.Interruptions, time.Time) {
	var known *catalog.Interruptions
	now := catalogtest.Now
	for range hours + 1 {
		known = known.With(catalog.SpotSeen{Nodes: nodes}, now)
		now = now.Add(time.Hour)
	}
	return known, now.Add(-time.Hour)
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) }

func TestSpotPoolsAreInstanceTypesInZones(t *testing.T) {
	labels := map[string]string{
		corev1.LabelInstanceTypeStable: "m5.large", corev1.LabelTopologyZone: "us-east-1a",
		api.CapacityTypeLabelKey: api.CapacityTypeSpot,
	}
	if key := catalog.SpotPoolKey(labels); key != m5a {
		t.Errorf("the key is %q", key)
	}
	for key, value := range map[string]string{
		api.CapacityTypeLabelKey: api.CapacityTypeOnDemand, corev1.LabelTopologyZone: "", corev1.LabelInstanceTypeStable: "",
	} {
		other := map[string]string{}
		for k, v := range labels {
			other[k] = v
		}
		other[key] = value
		if made := catalog.SpotPoolKey(other); made != "" {
			t.Errorf("%v has the key %q", other, made)
		}
	}
}

// A half-life is a day: what was seen then counts half, interruptions and hours alike.
func TestInterruptionsAndHoursFadeByTheDay(t *testing.T) {
	now := catalogtest.Now
	nodes := spotNodes("n", m5a, 2)
	var empty *catalog.Interruptions
	known := empty.With(catalog.SpotSeen{Nodes: nodes, Interrupted: nodes[:1]}, now)
	if pool := known.Pools[m5a]; pool.Interrupted != 1 || pool.Hours != 0 {
		t.Fatalf("counted %+v at first", pool)
	}
	known = known.With(catalog.SpotSeen{Nodes: nodes}, now.Add(24*time.Hour))
	// Two nodes of at most two hours each, because nobody saw whether they ran for longer.
	if pool := known.Pools[m5a]; !near(pool.Interrupted, 0.5) || !near(pool.Hours, 4) {
		t.Errorf("a day later it is %+v", pool)
	}
	known = known.With(catalog.SpotSeen{Nodes: nodes[:1]}, now.Add(48*time.Hour))
	if pool := known.Pools[m5a]; !near(pool.Interrupted, 0.25) || !near(pool.Hours, 4) {
		t.Errorf("two days later it is %+v", pool)
	}
}

// What is counted between two counts of hours weighs as much as what is counted with them.
func TestAnInterruptionWeighsTheSameWheneverItIsCounted(t *testing.T) {
	known, now := ran(3, spotNodes("n", m5a, 5))
	gone := spotNodes("gone", m5a, 1)
	late := known.With(catalog.SpotSeen{Interrupted: gone}, now.Add(50*time.Minute))
	late = late.With(catalog.SpotSeen{Nodes: spotNodes("n", m5a, 5), Interrupted: gone}, now.Add(time.Hour))
	want := math.Exp2(-(10.0 / 60) / 24)
	if got := late.Pools[m5a].Interrupted; !near(got, want) {
		t.Errorf("ten minutes later it weighs %v, want %v", got, want)
	}
}

// The claim's UID is stored with the count, so that a pass that is repeated, or runs beside another
// one, adds nothing.
func TestANodeIsInterruptedOnce(t *testing.T) {
	now := catalogtest.Now
	seen := catalog.SpotSeen{Interrupted: spotNodes("gone", m5a, 3)}
	var known *catalog.Interruptions
	if !known.Lacks(seen, now) {
		t.Fatal("an empty memory lacks nothing")
	}
	for i := range 50 {
		known = known.With(seen, now.Add(time.Duration(i)*time.Minute))
	}
	if got := known.Pools[m5a].Interrupted; got != 3 {
		t.Errorf("3 nodes are %v interruptions", got)
	}
	if known.Lacks(seen, now) {
		t.Error("it lacks what it has")
	}
	// A node that is stuck for days is still the same interruption, and goes with the claim.
	stuck := spotNodes("n", c5b, 1)
	for hour := range 100 {
		at := now.Add(time.Duration(hour) * time.Hour)
		known = known.With(catalog.SpotSeen{Interrupted: seen.Interrupted[:1], Nodes: stuck}, at)
	}
	if got := known.Pools[m5a].Interrupted; got > 3*math.Exp2(-99.0/24)+1e-9 {
		t.Errorf("a stuck node counts again: %v", got)
	}
	if len(known.Counted) != 1 {
		t.Errorf("%d claims are remembered, want that which is there", len(known.Counted))
	}
	if known.Lacks(catalog.SpotSeen{Interrupted: seen.Interrupted[:1]}, now.Add(99*time.Hour)) {
		t.Error("a stuck node would be counted again")
	}
}

func TestHoursAreCountedEachHourAndOnlyWhereAllNodesAreKnown(t *testing.T) {
	now := catalogtest.Now
	nodes := spotNodes("n", m5a, 10)
	var known *catalog.Interruptions
	all := catalog.SpotSeen{Nodes: nodes}
	if known = known.With(all, now); known.Lacks(all, now.Add(59*time.Minute)) {
		t.Error("hours are counted within the hour")
	}
	if !known.Lacks(all, now.Add(time.Hour)) || known.Lacks(catalog.SpotSeen{}, now.Add(time.Hour)) {
		t.Error("hours are not counted after an hour, or without nodes")
	}
	some := known.With(catalog.SpotSeen{Interrupted: spotNodes("gone", c5b, 1)}, now.Add(time.Hour))
	if !some.Time.Equal(now) || len(some.Pools) != 1 {
		t.Errorf("a pass that saw no nodes has counted hours: %+v", some)
	}
	if known = known.With(all, now.Add(time.Hour)); known.Pools[m5a].Hours != 10 {
		t.Errorf("10 nodes of an hour are %v hours", known.Pools[m5a].Hours)
	}
}

func TestRatesNeedSomeHours(t *testing.T) {
	rate := func(hours, count, interrupted int) float64 {
		known, now := ran(hours, spotNodes("n", m5a, count))
		known = known.With(catalog.SpotSeen{Interrupted: spotNodes("gone", m5a, interrupted)}, now)
		return known.Rates(now)[m5a]
	}
	if alone := rate(0, 1, 1); alone > 1.0/24+1e-4 {
		t.Errorf("the interruption of a new node is a rate of %v an hour", alone)
	}
	if calm, busy := rate(24, 100, 1), rate(24, 1, 1); calm >= busy/10 {
		t.Errorf("among 100 nodes the rate is %v, alone %v", calm, busy)
	}
	if rate(24, 100, 0) != 0 {
		t.Error("a pool without an interruption has a rate")
	}
	if rare := rate(48, 100, 1); rare != 0 {
		t.Errorf("a rare interruption has a rate of %v", rare)
	}
	if most := rate(0, 1, 500); most != 1 {
		t.Errorf("500 interruptions are a rate of %v", most)
	}
	var none *catalog.Interruptions
	if none.Rates(catalogtest.Now) != nil {
		t.Error("nothing has rates")
	}
}

// Rates stay while nothing is counted within an hour, and go with the time when nothing is ever
// counted again.
func TestRatesChangeByTheHour(t *testing.T) {
	known, now := ran(5, spotNodes("n", m5a, 2))
	known = known.With(catalog.SpotSeen{Interrupted: spotNodes("gone", m5a, 1)}, now)
	first := known.Rates(now)
	if len(first) != 1 || !reflect.DeepEqual(first, known.Rates(now.Add(59*time.Minute))) {
		t.Errorf("within an hour %v are %v", first, known.Rates(now.Add(59*time.Minute)))
	}
	before := first[m5a]
	for day := 1; day <= 5; day++ {
		later := known.Rates(now.Add(time.Duration(day) * 24 * time.Hour))[m5a]
		if later >= before && before > 0 {
			t.Errorf("after %d days the rate is %v, before it %v", day, later, before)
		}
		before = later
	}
	if rates := known.Rates(now.Add(20 * 24 * time.Hour)); rates != nil {
		t.Errorf("weeks later there are %v", rates)
	}
}

func TestTheMemoryIsBounded(t *testing.T) {
	now := catalogtest.Now
	var seen catalog.SpotSeen
	for i := range 2000 {
		pool := fmt.Sprintf("m5.%dxlarge:us-east-1a", i)
		seen.Nodes = append(seen.Nodes, spotNodes("n-"+pool, pool, 1+i%3)...)
		seen.Interrupted = append(seen.Interrupted, spotNodes("gone-"+pool, pool, 1)...)
	}
	var known *catalog.Interruptions
	for hour := range 3 {
		known = known.With(seen, now.Add(time.Duration(hour)*time.Hour))
	}
	if len(known.Pools) > 400 || len(known.Counted) > 1000 {
		t.Errorf("%d pools and %d claims are remembered", len(known.Pools), len(known.Counted))
	}
	for key, pool := range known.Pools {
		if pool.Interrupted == 0 {
			t.Fatalf("%s without an interruption is kept instead of others", key)
		}
	}
	// A full list counts no further node, and reads nothing more for it.
	if known.Lacks(catalog.SpotSeen{Interrupted: seen.Interrupted}, now.Add(2*time.Hour)) {
		t.Error("a full memory asks for more")
	}
	text, err := json.Marshal(known)
	if err != nil || len(text) > 200<<10 {
		t.Errorf("the memory has %d bytes, %v", len(text), err)
	}
	known = known.With(catalog.SpotSeen{Nodes: seen.Nodes[:1]}, now.Add(50*time.Hour))
	if len(known.Counted) != 0 {
		t.Errorf("%d claims that have gone are remembered for days", len(known.Counted))
	}
}

// The ConfigMap is text that people can write.
func TestOddMemoriesDoNoHarm(t *testing.T) {
	now := catalogtest.Now
	seen := catalog.SpotSeen{Nodes: spotNodes("n", m5a, 2), Interrupted: spotNodes("gone", m5a, 1)}
	for _, text := range []string{
		`{}`, `{"pools":null,"counted":null}`,
		`{"time":"2026-01-01T00:00:00Z","pools":{"m5.large:us-east-1a":{"interrupted":-1,"hours":-24}}}`,
		`{"time":"2026-01-01T00:00:00Z","pools":{"m5.large:us-east-1a":{"hours":-24}}}`,
		`{"time":"2026-01-01T00:00:00Z","pools":{"m5.large:us-east-1a":{"interrupted":1e308,"hours":1e308}}}`,
		`{"time":"9999-01-01T00:00:00Z","pools":{"":{"interrupted":3}},"counted":{"":"9999-01-01T00:00:00Z"}}`,
		`{"time":"0001-01-02T00:00:00Z","pools":{"m5.large:us-east-1a":{"interrupted":3}}}`,
		`{"time":"9999-01-01T00:00:00Z","pools":{"m5.large:us-east-1a":{"interrupted":3}}}`,
	} {
		known := &catalog.Interruptions{}
		if err := json.Unmarshal([]byte(text), known); err != nil {
			t.Fatal(err)
		}
		for _, rate := range known.Rates(now) {
			if !(rate > 0 && rate <= 1) {
				t.Errorf("%s: a rate is %v", text, rate)
			}
		}
		for hour := range 3 {
			known = known.With(seen, now.Add(time.Duration(hour)*time.Hour))
		}
		if _, err := json.Marshal(known); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		pool := known.Pools[m5a]
		if want := math.Exp2(-2.0 / 24); !near(pool.Interrupted, want) || pool.Hours < 3 || pool.Hours > 8 {
			t.Errorf("%s: two hours later it is %+v", text, pool)
		}
		if rate := known.Rates(now.Add(2 * time.Hour))[m5a]; !(rate > 0.01 && rate < 0.05) {
			t.Errorf("%s: the rate is %v", text, rate)
		}
	}
}

func TestCountsDoNotDependOnTheOrder(t *testing.T) {
	now := catalogtest.Now
	var seen catalog.SpotSeen
	for i := range 600 {
		pool := fmt.Sprintf("m5.%dxlarge:us-east-1a", i)
		seen.Nodes = append(seen.Nodes, spotNodes("n-"+pool, pool, 1)...)
		if i < 500 {
			seen.Interrupted = append(seen.Interrupted, spotNodes("gone-"+pool, pool, 1)...)
		}
	}
	back := catalog.SpotSeen{Nodes: slices.Clone(seen.Nodes), Interrupted: slices.Clone(seen.Interrupted)}
	slices.Reverse(back.Nodes)
	slices.Reverse(back.Interrupted)
	var one, other *catalog.Interruptions
	for hour := range 3 {
		at := now.Add(time.Duration(hour) * time.Hour)
		one, other = one.With(seen, at), other.With(back, at.In(time.FixedZone("", 3600)))
	}
	a, _ := json.Marshal(one)
	b, _ := json.Marshal(other)
	if string(a) != string(b) {
		t.Error("the order of what was seen changes the memory")
	}
}

// With returns a copy: the container compares what it knows with what it reads later.
func TestTheMemoryIsNotChangedInPlace(t *testing.T) {
	known, now := ran(2, spotNodes("n", m5a, 2))
	before, _ := json.Marshal(known)
	known.With(catalog.SpotSeen{Nodes: spotNodes("n", c5b, 2), Interrupted: spotNodes("gone", m5a, 2)}, now.Add(time.Hour))
	if after, _ := json.Marshal(known); string(after) != string(before) {
		t.Errorf("%s became %s", before, after)
	}
}

package planner_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/plan"
	"github.com/whittle-dev/whittle/shared/planner"
	"github.com/whittle-dev/whittle/shared/planner/plantest"
	"github.com/whittle-dev/whittle/shared/planner/resource"
	"github.com/whittle-dev/whittle/shared/planner/schedulertest"
)

// The golden files of TestPlansAreUnchanged have a line for each name.
const (
	// plansHashes has the hashes of all plans and dual prices.
	plansHashes = "testdata/plans.sha256"
	// plansTexts has what a reviewer reads: the number of new nodes, their price, and the bound.
	plansTexts = "testdata/plans.txt"
)

// TestPlansAreUnchanged compares plans with the golden files. A change that keeps all decisions must
// not change a line. For a change that alters decisions, run the test with -update. The reviewer sees
// in plansTexts which workloads became cheaper or dearer.
func TestPlansAreUnchanged(t *testing.T) {
	got := &recording{hashes: map[string]string{}, texts: map[string]string{}}
	t.Run("plans", func(t *testing.T) {
		recordRandom(t, got)
		recordScenarios(t, got)
		recordSchedulerScenarios(t, got)
		recordWorkloads(t, got)
	})
	compareLines(t, plansHashes, got.hashes)
	compareLines(t, plansTexts, got.texts)
}

// compareLines compares the lines, by the names that they are about, with the golden file. With
// -update it writes the file. A short run has a part of the lines only.
func compareLines(t *testing.T, file string, got map[string]string) {
	t.Helper()
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(got)) {
		lines = append(lines, got[name])
	}
	if *update {
		if testing.Short() {
			t.Fatal("-update needs all lines: run it without -short")
		}
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range lines {
		if !slices.Contains(want, line) {
			t.Errorf("%s does not have this line; with -update it would: %s", file, line)
		}
	}
	for _, line := range want {
		if !testing.Short() && !slices.Contains(lines, line) {
			t.Errorf("%s has this line, which no longer holds: %s", file, line)
		}
	}
}

// recording holds the lines of both golden files by the names that they are about.
type recording struct {
	mu            sync.Mutex
	hashes, texts map[string]string
}

func (r *recording) add(name string, plans *plans) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hashes[name] = hex.EncodeToString(plans.sum.Sum(nil)) + "  " + name
	r.texts[name] = name + ": " + plans.text()
}

// plans sums up the plans of one line.
type plans struct {
	sum                        hash.Hash
	nodes, nominated, unplaced int
	price, bound               float64
}

// add plans for the snapshot, and adds the plan and the dual prices of its pods.
func (p *plans) add(t *testing.T, s *plan.Snapshot) {
	if p.sum == nil {
		p.sum = sha256.New()
	}
	encoder, solved := json.NewEncoder(p.sum), planner.Solve(s)
	if err := encoder.Encode(solved); err != nil {
		t.Fatal(err)
	}
	prices, _ := planner.DualPrices(s)
	if err := encoder.Encode(prices); err != nil {
		t.Fatal(err)
	}
	p.nodes, p.nominated = p.nodes+len(solved.NodeClaims), p.nominated+len(solved.Nominations)
	p.unplaced += len(solved.Unplaced)
	p.price, p.bound = p.price+solved.PricePerHour, p.bound+solved.LowerBoundPerHour
}

func (p *plans) text() string {
	text := fmt.Sprintf("%d nodes, $%.4f/h, bound $%.4f/h", p.nodes, p.price, p.bound)
	if p.nominated > 0 {
		text += fmt.Sprintf(", %d pods on other nodes", p.nominated)
	}
	if p.unplaced > 0 {
		text += fmt.Sprintf(", %d pods without a place", p.unplaced)
	}
	return text
}

// recordRandom plans for 10,000 random clusters, with a line for each hundred.
func recordRandom(t *testing.T, got *recording) {
	const clusters, each = 10_000, 100
	for first := uint64(0); first < clusters; first += each {
		if testing.Short() && first >= clusters/50 {
			return
		}
		t.Run(fmt.Sprintf("random from %d", first), func(t *testing.T) {
			t.Parallel()
			var p plans
			for seed := first; seed < first+each; seed++ {
				p.add(t, plantest.Random(seed))
			}
			got.add(fmt.Sprintf("random clusters %05d", first), &p)
		})
	}
}

func recordScenarios(t *testing.T, got *recording) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c scenario
		if err := yaml.UnmarshalStrict(text, &c); err != nil {
			t.Fatal(err)
		}
		var p plans
		p.add(t, c.snapshot(t))
		got.add("scenario "+strings.TrimSuffix(filepath.Base(file), ".yaml"), &p)
	}
}

// recordSchedulerScenarios plans for the scenarios of schedulertest.
func recordSchedulerScenarios(t *testing.T, got *recording) {
	for name, scenario := range schedulertest.Scenarios(t) {
		t.Run("scheduler "+name, func(t *testing.T) {
			var p plans
			p.add(t, scenario.Snapshot(t))
			got.add("scheduler scenario "+name, &p)
		})
	}
}

// recordWorkloads plans for the benchmarks' workloads.
func recordWorkloads(t *testing.T, got *recording) {
	add := func(name string, s *plan.Snapshot) {
		t.Run(name, func(t *testing.T) {
			var p plans
			p.add(t, s)
			got.add(name, &p)
		})
	}
	for _, workload := range workloads {
		for _, count := range []int{500, 2000, 5000, 20000} {
			if testing.Short() && count > 500 {
				continue
			}
			for _, capacityType := range []string{api.CapacityTypeOnDemand, api.CapacityTypeSpot} {
				s := realSnapshot(t, newPool("default", require(api.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, capacityType)))
				s.InstanceTypes["default"] = everyNth(s.InstanceTypes["default"], benchmarkTypes)
				s.Pods = workload.pods(count)
				add(fmt.Sprintf("workload %s %05d %s", workload.name, count, capacityType), s)
			}
		}
	}
	add("workload limited", limitedSnapshot(t))
	if !testing.Short() {
		full := largeCluster(t, 5000, 1000)
		add("large cluster", full)
		for i := range full.Nodes {
			full.Nodes[i].Node.Status.Allocatable[corev1.ResourcePods] = *resource.QuantityOf(corev1.ResourcePods, 20)
		}
		add("large full cluster", full)
	}
}

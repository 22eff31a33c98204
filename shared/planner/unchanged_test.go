package planner_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
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

// TestPlansAreUnchanged compares plans with the hashes in testdata/plans.sha256. A change that
// keeps all decisions must not change a line. For a change that alters decisions, run the test with
// -update and show the new lines to the reviewer.
func TestPlansAreUnchanged(t *testing.T) {
	const file = "testdata/plans.sha256"
	got := &hashes{lines: map[string]string{}}
	t.Run("plans", func(t *testing.T) {
		hashRandom(t, got)
		hashScenarios(t, got)
		hashSchedulerScenarios(t, got)
		hashWorkloads(t, got)
	})
	if *update {
		if err := os.WriteFile(file, []byte(got.text()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		want[name] = sum
	}
	for name, sum := range want {
		if have, ok := got.lines[name]; ok && have != sum || !ok && !testing.Short() {
			t.Errorf("%s: the hash is %q, and %q is recorded", name, have, sum)
		}
	}
	for name := range got.lines {
		if want[name] == "" {
			t.Errorf("%s: no hash is recorded; run with -update", name)
		}
	}
}

// hashes holds a hash of plans for each name.
type hashes struct {
	mu    sync.Mutex
	lines map[string]string
}

func (h *hashes) add(name string, sum hash.Hash) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines[name] = hex.EncodeToString(sum.Sum(nil))
}

func (h *hashes) text() string {
	var lines []string
	for name, sum := range h.lines {
		lines = append(lines, sum+"  "+name+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return strings.Join(lines, "")
}

// hashPlan adds the plan and the dual prices of the snapshot's pods to the sum.
func hashPlan(t *testing.T, sum hash.Hash, s *plan.Snapshot) {
	encoder := json.NewEncoder(sum)
	if err := encoder.Encode(planner.Solve(s)); err != nil {
		t.Fatal(err)
	}
	if err := encoder.Encode(planner.DualPrices(s)); err != nil {
		t.Fatal(err)
	}
}

// hashRandom hashes the plans for 10,000 random clusters, with a line for each hundred.
func hashRandom(t *testing.T, got *hashes) {
	const clusters, each = 10_000, 100
	for first := uint64(0); first < clusters; first += each {
		if testing.Short() && first >= clusters/20 {
			return
		}
		t.Run(fmt.Sprintf("random from %d", first), func(t *testing.T) {
			t.Parallel()
			sum := sha256.New()
			for seed := first; seed < first+each; seed++ {
				hashPlan(t, sum, plantest.Random(seed))
			}
			got.add(fmt.Sprintf("random clusters %05d", first), sum)
		})
	}
}

func hashScenarios(t *testing.T, got *hashes) {
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
		sum := sha256.New()
		hashPlan(t, sum, c.snapshot(t))
		got.add("scenario "+strings.TrimSuffix(filepath.Base(file), ".yaml"), sum)
	}
}

// hashSchedulerScenarios hashes the plans for the scenarios of schedulertest.
func hashSchedulerScenarios(t *testing.T, got *hashes) {
	for name, scenario := range schedulertest.Scenarios(t) {
		t.Run("scheduler "+name, func(t *testing.T) {
			sum := sha256.New()
			hashPlan(t, sum, scenario.Snapshot(t))
			got.add("scheduler scenario "+name, sum)
		})
	}
}

// hashWorkloads hashes the plans for the benchmarks' workloads.
func hashWorkloads(t *testing.T, got *hashes) {
	add := func(name string, s *plan.Snapshot) {
		t.Run(name, func(t *testing.T) {
			sum := sha256.New()
			hashPlan(t, sum, s)
			got.add(name, sum)
		})
	}
	for _, workload := range workloads {
		for _, count := range []int{500, 2000, 5000, 20000} {
			if testing.Short() && count > 2000 {
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

package consolidation_test

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/plan"
)

var update = flag.Bool("update", false, "write the golden files of testdata")

// hashesFile has one line for each cluster or fleet: its name and the hashes of its plans.
const hashesFile = "testdata/moves.sha256"

// TestMovesAreUnchanged compares Solve with the hashes recorded in testdata. A change that is meant
// to leave decisions alone must not change a line. A change that is meant to alter them runs the
// test with -update and shows the new lines to its reviewer.
func TestMovesAreUnchanged(t *testing.T) {
	lines := slices.Concat(randomHashes(t), fleetHashes(t))
	if *update {
		if err := os.MkdirAll(filepath.Dir(hashesFile), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(hashesFile, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(hashesFile)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(want) != len(lines) {
		t.Fatalf("%d lines, want %d", len(lines), len(want))
	}
	for i := range want {
		if lines[i] != want[i] {
			t.Errorf("\ngot  %s\nwant %s", lines[i], want[i])
		}
	}
}

// randomHashes plans for the clusters of TestRandomClusters: one line for 25 seeds, without and
// with protected pods.
func randomHashes(t *testing.T) []string {
	t.Helper()
	const seeds, perLine = 300, 25
	var lines []string
	for _, protected := range []bool{false, true} {
		kind := "random"
		if protected {
			kind = "random, a third of the pods do-not-disrupt"
		}
		for first := uint64(0); first < seeds; first += perLine {
			sum := sha256.New()
			for seed := first; seed < first+perLine; seed++ {
				s, random := randomCluster(seed)
				if protected {
					protectSome(s, random)
				}
				fmt.Fprintln(sum, decisions(t, consolidation.Solve(&consolidation.Input{Cluster: s, Now: now})))
			}
			name := fmt.Sprintf("%s, seeds %d to %d", kind, first, first+perLine-1)
			lines = append(lines, fmt.Sprintf("%s: %s", name, hex.EncodeToString(sum.Sum(nil))))
		}
	}
	return lines
}

// fleetHashes plans twice for each fleet, the second time after the moves of the first plan were
// carried out.
func fleetHashes(t *testing.T) []string {
	t.Helper()
	types := someTypes(t, 12)
	var lines []string
	for _, fleet := range consolidationtest.Fleets() {
		for _, nodes := range []int{16, 60, 100} {
			s := fleet.Make(nodes, types)
			five := map[string]consolidation.Allowance{"default": {Empty: 5, Underutilized: 5}}
			lines = append(lines,
				fmt.Sprintf("%s, %d nodes: %s", fleet.Name, nodes, twoRounds(t, s, nil)),
				fmt.Sprintf("%s, %d nodes, budget 5: %s", fleet.Name, nodes, twoRounds(t, s, five)))
		}
	}
	// A fleet of this size is swept. One round takes as much work as all rounds of a fleet of 100
	// nodes.
	for _, fleet := range consolidationtest.Fleets()[:2] {
		budget := map[string]consolidation.Allowance{"default": {Empty: 22, Underutilized: 22}}
		p := consolidation.Solve(&consolidation.Input{Cluster: fleet.Make(220, types), Allowed: budget, Now: now})
		lines = append(lines, fmt.Sprintf("%s, 220 nodes, budget 22: %s", fleet.Name, hash(decisions(t, p))))
	}
	return lines
}

// twoRounds hashes the plans for a fleet now, and an hour after the moves were carried out.
func twoRounds(t *testing.T, s *plan.Snapshot, allowed map[string]consolidation.Allowance) string {
	t.Helper()
	first := consolidation.Solve(&consolidation.Input{Cluster: s, Allowed: allowed, Now: now})
	for i := range first.Moves {
		s = consolidationtest.CarryOut(s, &first.Moves[i], fmt.Sprintf("first-%d", i), now)
	}
	second := consolidation.Solve(&consolidation.Input{Cluster: s, Allowed: allowed, Now: now.Add(time.Hour)})
	return hash(decisions(t, first)) + " " + hash(decisions(t, second))
}

// decisions is the plan as JSON without the messages of stays, which are text for people. The
// scenarios pin those.
func decisions(t *testing.T, p *consolidation.Plan) string {
	t.Helper()
	decided := *p
	decided.Stays = slices.Clone(p.Stays)
	for i := range decided.Stays {
		decided.Stays[i].Message = ""
	}
	return asJSON(t, decided)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

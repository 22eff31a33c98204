package consolidation_test

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/whittle-dev/whittle/shared/consolidation"
	"github.com/whittle-dev/whittle/shared/consolidation/consolidationtest"
	"github.com/whittle-dev/whittle/shared/plan"
)

var update = flag.Bool("update", false, "write the golden files of testdata")

// The golden files of TestMovesAreUnchanged have a line for each cluster or fleet.
const (
	// movesHashes has the hashes of the plans.
	movesHashes = "testdata/moves.sha256"
	// movesTexts has what a reviewer reads: the number of nodes and their price, before and after.
	movesTexts = "testdata/moves.txt"
)

// TestMovesAreUnchanged compares Solve with the golden files. A change that is meant to leave
// decisions alone must not change a line. A change that is meant to alter them runs the test with
// -update. Its reviewer sees in movesTexts which fleets became cheaper or dearer.
func TestMovesAreUnchanged(t *testing.T) {
	records := slices.Concat(randomRecords(t), fleetRecords(t))
	compareLines(t, movesHashes, records, func(r record) string { return r.name + ": " + r.hash })
	compareLines(t, movesTexts, records, func(r record) string { return r.name + ": " + r.text })
}

// compareLines compares a line of each record with the golden file. With -update it writes the file.
// A short run has a part of the lines only.
func compareLines(t *testing.T, file string, records []record, line func(record) string) {
	t.Helper()
	var lines []string
	for _, r := range records {
		lines = append(lines, line(r))
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
	if !testing.Short() && len(want) != len(lines) {
		t.Errorf("%s has %d lines, want %d", file, len(want), len(lines))
	}
	for _, line := range lines {
		if !slices.Contains(want, line) {
			t.Errorf("%s does not have this line; with -update it would: %s", file, line)
		}
	}
}

// record is what the golden files say of a name.
type record struct{ name, hash, text string }

// fleetSize is a number of nodes with a NodeClaim, and their price in US dollars an hour.
type fleetSize struct {
	nodes int
	price float64
}

func (f fleetSize) String() string { return fmt.Sprintf("%d nodes for $%.4f/h", f.nodes, f.price) }

// sizes are the fleet before the plan's moves and after them.
func sizes(s *plan.Snapshot, p *consolidation.Plan) (before, after fleetSize) {
	for i := range s.Nodes {
		if s.Nodes[i].NodeClaim != nil {
			before.nodes++
		}
	}
	before.price, after = p.PricePerHour, fleetSize{nodes: before.nodes, price: p.AfterPerHour}
	for i := range p.Moves {
		after.nodes += len(p.Moves[i].Launch) - len(p.Moves[i].Delete)
	}
	return before, after
}

// randomRecords plans for the clusters of TestRandomClusters: one line for 25 seeds, without and
// with protected pods.
func randomRecords(t *testing.T) []record {
	t.Helper()
	const perLine = 25
	seeds := uint64(300)
	if testing.Short() {
		seeds = perLine
	}
	var records []record
	for _, protected := range []bool{false, true} {
		kind := "random"
		if protected {
			kind = "random, a third of the pods do-not-disrupt"
		}
		for first := uint64(0); first < seeds; first += perLine {
			sum := sha256.New()
			var before, after fleetSize
			for seed := first; seed < first+perLine; seed++ {
				s, random := randomCluster(seed)
				if protected {
					protectSome(s, random)
				}
				p := consolidation.Solve(&consolidation.Input{Cluster: s, Now: now})
				fmt.Fprintln(sum, decisions(t, p))
				b, a := sizes(s, p)
				before.nodes, before.price = before.nodes+b.nodes, before.price+b.price
				after.nodes, after.price = after.nodes+a.nodes, after.price+a.price
			}
			records = append(records, record{
				name: fmt.Sprintf("%s, seeds %d to %d", kind, first, first+perLine-1),
				hash: hex.EncodeToString(sum.Sum(nil)), text: fmt.Sprintf("%s, then %s", before, after),
			})
		}
	}
	return records
}

// fleetRecords plans twice for each fleet, the second time after the moves of the first plan were
// carried out.
func fleetRecords(t *testing.T) []record {
	t.Helper()
	types := someTypes(t, 12)
	var records []record
	five := map[string]consolidation.Allowance{"default": {Empty: 5, Underutilized: 5}}
	for _, fleet := range consolidationtest.Fleets() {
		for _, nodes := range []int{16, 60, 100} {
			if testing.Short() && nodes > 16 {
				continue
			}
			s := fleet.Make(nodes, types)
			name := fmt.Sprintf("%s, %d nodes", fleet.Name, nodes)
			records = append(records, twoRounds(t, name, s, nil), twoRounds(t, name+", budget 5", s, five))
		}
	}
	if testing.Short() {
		return records
	}
	// A fleet of this size is swept. One round takes as much work as all rounds of a fleet of 100
	// nodes.
	for _, fleet := range consolidationtest.Fleets()[:2] {
		budget := map[string]consolidation.Allowance{"default": {Empty: 22, Underutilized: 22}}
		s := fleet.Make(220, types)
		p := consolidation.Solve(&consolidation.Input{Cluster: s, Allowed: budget, Now: now})
		before, after := sizes(s, p)
		records = append(records, record{
			name: fmt.Sprintf("%s, 220 nodes, budget 22", fleet.Name),
			hash: hash(decisions(t, p)), text: fmt.Sprintf("%s, then %s", before, after),
		})
	}
	return records
}

// twoRounds plans for a fleet now, and an hour after the moves were carried out.
func twoRounds(t *testing.T, name string, s *plan.Snapshot, allowed map[string]consolidation.Allowance) record {
	t.Helper()
	first := consolidation.Solve(&consolidation.Input{Cluster: s, Allowed: allowed, Now: now})
	before, between := sizes(s, first)
	for i := range first.Moves {
		s = consolidationtest.CarryOut(s, &first.Moves[i], fmt.Sprintf("first-%d", i), now)
	}
	second := consolidation.Solve(&consolidation.Input{Cluster: s, Allowed: allowed, Now: now.Add(time.Hour)})
	_, after := sizes(s, second)
	return record{
		name: name, hash: hash(decisions(t, first)) + " " + hash(decisions(t, second)),
		text: fmt.Sprintf("%s, then %s, then %s", before, between, after),
	}
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

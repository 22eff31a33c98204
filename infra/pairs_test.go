package infra

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// templatesVariable names a folder for the templates of TestEveryPairOfSettings. `make synth` checks them there
// by programs that others wrote.
const templatesVariable = "TEMPLATES"

// needs are settings that a setting takes with it.
var needs = map[string][]string{
	"securityGroups":       {"subnets"},
	"subnets":              {"securityGroups"},
	"clusterSecurityGroup": {"subnets", "securityGroups"},
}

// apart are pairs of settings that no deployment has together.
var apart = [][2]string{{"alarmTopic", "alarms"}, {"alarmEmail", "alarms"}, {"nodeRole", "windowsNodes"}}

// TestEveryPairOfSettings synthesizes templates in which each two settings stand together, each alone, and
// neither. Faults of templates hide in the ones that nobody has looked at.
func TestEveryPairOfSettings(t *testing.T) {
	examples := map[string]string{"tags": "team=platform,stage=prod"}
	for _, s := range clusterSettings() {
		examples[s.key] = s.example
	}
	rows := coveringRows(examples)
	t.Logf("%d templates for %d settings", len(rows), len(examples))
	folder := os.Getenv(templatesVariable)
	built := builtFunctions(t)
	for i, row := range rows {
		context := map[string]any{"clusters": "prod", "functions": built}
		for key := range row {
			context[key] = examples[key]
		}
		made := synthesizeWith(t, context)
		if len(made.Resources) > 500 || len(made.text) > 1_000_000 {
			t.Errorf("%v: %d resources in %d bytes", row, len(made.Resources), len(made.text))
		}
		if folder != "" {
			path := filepath.Join(folder, fmt.Sprintf("pairs-%02d.template.json", i))
			if err := os.WriteFile(path, made.text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// pair is two settings, each with its example or without it.
type pair struct {
	first, second     string
	isFirst, isSecond bool
}

// coveringRows chooses rows of settings so that each possible pair is in one of them. It takes the best of some
// random rows each time. The numbers are the same in each run.
func coveringRows(examples map[string]string) []map[string]bool {
	keys := make([]string, 0, len(examples))
	for key := range examples {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	open := map[pair]bool{}
	for i, first := range keys {
		for _, second := range keys[i+1:] {
			for choice := range 4 {
				one := pair{first, second, choice&1 != 0, choice&2 != 0}
				if possible(one) {
					open[one] = true
				}
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	var rows []map[string]bool
	for len(open) > 0 {
		var best map[string]bool
		gain := 0
		for range 200 {
			row := randomRow(random, keys)
			if found := countOpen(open, row); found > gain {
				best, gain = row, found
			}
		}
		if best == nil { // only rare pairs are left
			best = randomRow(random, keys)
		}
		for one := range open {
			if best[one.first] == one.isFirst && best[one.second] == one.isSecond {
				delete(open, one)
			}
		}
		if gain > 0 {
			rows = append(rows, best)
		}
	}
	return rows
}

// possible reports whether a deployment can have the pair.
func possible(p pair) bool {
	row := map[string]bool{}
	for key, on := range map[string]bool{p.first: p.isFirst, p.second: p.isSecond} {
		if on {
			row[key] = true
		}
	}
	complete(row)
	return row[p.first] == p.isFirst && row[p.second] == p.isSecond && !clashes(row)
}

func countOpen(open map[pair]bool, row map[string]bool) int {
	found := 0
	for one := range open {
		if row[one.first] == one.isFirst && row[one.second] == one.isSecond {
			found++
		}
	}
	return found
}

// randomRow has about half of the settings.
func randomRow(random *rand.Rand, keys []string) map[string]bool {
	for {
		row := map[string]bool{}
		for _, key := range keys {
			if random.IntN(2) == 0 {
				row[key] = true
			}
		}
		complete(row)
		if !clashes(row) {
			return row
		}
	}
}

// complete adds what the settings of a row need.
func complete(row map[string]bool) {
	for key, others := range needs {
		for _, other := range others {
			if row[key] {
				row[other] = true
			}
		}
	}
}

func clashes(row map[string]bool) bool {
	return slices.ContainsFunc(apart, func(two [2]string) bool { return row[two[0]] && row[two[1]] })
}

// TestRowsCoverPairs checks the choice of rows by itself: two settings need all four rows.
func TestRowsCoverPairs(t *testing.T) {
	var seen []string
	for _, row := range coveringRows(map[string]string{"dryRun": "true", "zonalShift": "true"}) {
		seen = append(seen, fmt.Sprint(row["dryRun"], row["zonalShift"]))
	}
	slices.Sort(seen)
	if got := strings.Join(seen, ", "); got != "false false, false true, true false, true true" {
		t.Errorf("rows %s", got)
	}
}

package control

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/whittle-dev/whittle/shared/release"
)

// Release is what a person orders about releases.
type Release struct {
	Verb release.Verb
	// Pool is the name of a NodePool, or empty for each whose release has not ended.
	Pool string
	Who  string
}

// ReleaseOf are the changes for the order, and what they come to for people. States are the verdicts
// about the pools' releases. The order is about these releases and ends with them.
func ReleaseOf(r Release, states map[string]*release.State, now time.Time) (changes Changes, says string, err error) {
	changes = Changes{}
	var lines []string
	for _, pool := range slices.Sorted(maps.Keys(states)) {
		state := states[pool]
		if r.Pool != "" && pool != r.Pool || !open(state) {
			continue
		}
		order := release.Order{
			Pool: pool, Verb: r.Verb, Release: state.Record.Release, Who: r.Who, Since: now.UTC().Truncate(time.Second),
		}
		changes[release.KeyOf(pool)] = order.Text()
		lines = append(lines, fmt.Sprintf("nodepool %q: %s; %s", pool, &order, comesTo(r.Verb, state.Old)))
	}
	switch {
	case len(lines) > 0:
		return changes, strings.Join(lines, "\n"), nil
	case r.Pool == "":
		return nil, "", fmt.Errorf("no release is under way")
	}
	return nil, "", fmt.Errorf("-pool: no release of nodepool %q is under way%s", r.Pool, others(states))
}

// open tells whether the release has not ended, and has stages.
func open(state *release.State) bool {
	return state.Stage != release.Off && state.Stage != release.Done
}

func comesTo(verb release.Verb, nodes int) string {
	if verb == release.Abort {
		return fmt.Sprintf("%d nodes keep what they have until the NodePool, its class or its images change", nodes)
	}
	return fmt.Sprintf("drift replaces %d nodes within the budgets", nodes)
}

// others names the pools that have an open release.
func others(states map[string]*release.State) string {
	var names []string
	for _, pool := range slices.Sorted(maps.Keys(states)) {
		if open(states[pool]) {
			names = append(names, pool)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ": there are those of " + strings.Join(names, ", ")
}

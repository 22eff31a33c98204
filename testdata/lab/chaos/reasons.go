package chaos

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// came lists the log messages of a claim's creation. A function that dies after writing a claim has
// not logged it. Then the function that launches the claim logs it.
func came() []string { return []string{"created nodeclaim", "launched nodeclaim"} }

// went lists the log messages that give the reason of a claim's deletion.
func went() []string {
	return []string{
		"initiating delete from interruption message",
		"disrupting node(s)",
		"deleting replaced nodeclaim",
		"deleting replacement that is not needed",
		"deleting expired nodeclaim",
		"deleting nodeclaim before its instance is taken",
		"deleting nodeclaim of a deleted node",
		"deleting nodeclaim to satisfy replica count",
		"deleting unhealthy node",
		"garbage collecting nodeclaim with no cloudprovider representation",
		"giving up nodeclaim",
		"terminating due to timeout",
	}
}

// history holds what the logs say about claims.
type history struct {
	came map[string]string // why, by claim
	went map[string]string
	// forbidden holds each request that the API server refused for lack of a right.
	forbidden []refusal
}

// refusal is a right that the API server did not find.
type refusal struct{ function, name, verb, resource, group, namespace string }

func (r refusal) String() string {
	return fmt.Sprintf("%s may not %s %s %q of the API group %q in the namespace %q", r.function, r.verb, r.resource,
		r.name, r.group, r.namespace)
}

// forbidden matches the API server's message about a missing right: the object, its kind and its
// place.
var forbidden = regexp.MustCompile(
	`(?:"([^"]*)" )?is forbidden: User "[^"]*" cannot ([a-z]+) resource "([^"]*)" in API group "([^"]*)"(?: in the ` +
		`namespace "([^"]*)")?`)

// read takes in a function's log.
func (t *history) read(function string, lines []string) {
	for _, line := range lines {
		var entry struct {
			Message string   `json:"msg"`
			Claim   string   `json:"NodeClaim"`
			Reason  string   `json:"reason"`
			Kind    string   `json:"messageKind"`
			Names   []string `json:"others"`
			Error   string   `json:"error"`
		}
		if json.Unmarshal([]byte(line), &entry) != nil {
			continue // Lambda's own lines are no JSON of ours
		}
		if found := forbidden.FindStringSubmatch(entry.Error); found != nil {
			if refused := (refusal{function, found[1], found[2], found[3], found[4], found[5]}); !slices.Contains(t.forbidden,
				refused) {
				t.forbidden = append(t.forbidden, refused)
			}
		}
		why := entry.Message
		for _, detail := range []string{entry.Reason, entry.Kind} {
			if detail != "" {
				why += ": " + detail
			}
		}
		for _, name := range append(entry.Names, entry.Claim) {
			if name == "" {
				continue
			}
			if slices.Contains(came(), entry.Message) && t.came[name] == "" {
				t.came[name] = why
			}
			if slices.Contains(went(), entry.Message) && t.went[name] == "" {
				t.went[name] = why
			}
		}
	}
}

// unexplained lists the claims whose creation or deletion has no reason in the logs.
func (t *history) unexplained(known map[string]bool) []string {
	var lacks []string
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if t.came[name] == "" {
			lacks = append(lacks, fmt.Sprintf("no log has the reason of the start of nodeclaim %s", name))
		}
		if !known[name] && t.went[name] == "" {
			lacks = append(lacks, fmt.Sprintf("no log has the reason of the end of nodeclaim %s", name))
		}
	}
	return lacks
}

// counts returns how often each reason occurs among the claims.
func counts(reasons map[string]string, known map[string]bool, still bool) map[string]int {
	sums := map[string]int{}
	for name, there := range known {
		if there && !still {
			continue
		}
		if why := reasons[name]; why != "" {
			sums[why]++
		}
	}
	return sums
}

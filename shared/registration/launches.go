package registration

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// remembered is the number of launches that decide a pool's health. The pool is unhealthy from
// unhealthyFrom failed ones on. Both are Karpenter's.
const (
	remembered    = 4
	unhealthyFrom = 2
)

// Result is what came of a launch.
type Result string

// A claim that was given up has no instance, or its instance has not joined in time.
const (
	Registered Result = "registered"
	Unlaunched Result = "unlaunched"
	Failed     Result = "failed"
)

// Outcome is the end of one launch.
type Outcome struct {
	// Claim is the NodeClaim's name.
	Claim  string
	Result Result
	// At is when the node registered, or was given up.
	At time.Time
}

// Launches are a pool's last launches since its template or its class changed, the newest last. The
// condition's message holds them, for people and for the next pass. By then the failed claims are
// gone.
type Launches struct {
	Since time.Time
	Last  []Outcome
}

// String is the condition's message. Parse reads it.
func (l Launches) String() string {
	var parts []string
	for _, one := range l.Last {
		parts = append(parts, fmt.Sprintf("%s %s %s", one.Claim, one.Result, one.At.UTC().Format(time.RFC3339)))
	}
	return "Launches since " + l.Since.UTC().Format(time.RFC3339) + ": " + strings.Join(parts, ", ")
}

// Parse reads a condition's message. It reports false for a message of Karpenter or a person.
func Parse(message string) (read Launches, ok bool) {
	message, begins := strings.CutPrefix(message, "Launches since ")
	since, list, cut := strings.Cut(message, ": ")
	at, err := time.Parse(time.RFC3339, since)
	if !begins || !cut || err != nil {
		return Launches{}, false
	}
	read.Since = at
	for item := range strings.SplitSeq(list, ", ") {
		parts := strings.Fields(item)
		if len(parts) != 3 {
			continue
		}
		if at, err := time.Parse(time.RFC3339, parts[2]); err == nil {
			read.Last = append(read.Last, Outcome{Claim: parts[0], Result: Result(parts[1]), At: at})
		}
	}
	return read, true
}

// Add adds outcomes since the last change. Neither their order nor one that was added before
// changes the result.
func (l *Launches) Add(outcomes ...Outcome) {
	for _, seen := range outcomes {
		added := slices.ContainsFunc(l.Last, func(o Outcome) bool { return o.Claim == seen.Claim })
		if !added && !seen.At.Before(l.Since) {
			l.Last = append(l.Last, seen)
		}
	}
	slices.SortFunc(l.Last, func(a, b Outcome) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Claim, b.Claim))
	})
	l.Last = l.Last[max(0, len(l.Last)-remembered):]
}

// Unhealthy reports whether too many of the launches gave no node.
func (l Launches) Unhealthy() bool {
	count := 0
	for _, one := range l.Last {
		if one.Result != Registered {
			count++
		}
	}
	return count >= unhealthyFrom
}

// inVain are the instances that have not joined since the last node that has. Claims without an
// instance cost nothing, and do not count.
func (l Launches) inVain() []Outcome {
	var failed []Outcome
	for _, one := range l.Last {
		switch one.Result {
		case Registered:
			failed = nil
		case Failed:
			failed = append(failed, one)
		case Unlaunched:
		}
	}
	return failed
}

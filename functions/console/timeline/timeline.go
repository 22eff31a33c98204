// Package timeline shows the last day of a cluster by steps: launches, moves, interruptions, ends and
// failures in each quarter of an hour.
//
// It is pure. Package pastlogs reads the lines that it counts, and package widget draws it. Without
// lines it shows what the objects that still exist tell.
package timeline

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/shared/api"
	"github.com/whittle-dev/whittle/shared/nodestate"
)

const (
	// Day is what a timeline shows. It ends now.
	Day = 24 * time.Hour
	// Every is the length of a part of it.
	Every = 15 * time.Minute
	// maximumLast is how many of the last entries are named.
	maximumLast = 8
	// failedLevel is the level of the lines that count as failures.
	failedLevel = "ERROR"
)

// Line is how often the functions logged a message in a quarter of an hour, with the claim and the
// reason of the last one.
type Line struct {
	Start          time.Time
	Message, Level string
	Count          int
	Claim, Why     string
}

// Timeline is the last day by steps.
type Timeline struct {
	Until time.Time `json:"until"`
	Lanes []Lane    `json:"lanes"`
	// Last has the last entries, the newest first.
	Last []Entry `json:"last,omitempty"`
	// Source says where it comes from, when it was read and what that costs. Problem says why the logs
	// were not read; it is empty if they were.
	Source  string `json:"source,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// Lane is a step over the day.
type Lane struct {
	Step  nodestate.Step `json:"step"`
	Total int            `json:"total"`
	Parts []Part         `json:"parts,omitempty"` // the oldest first, without empty ones
}

// Part is a quarter of an hour in which the step was taken.
type Part struct {
	Start time.Time `json:"start"`
	Count int       `json:"count"`
}

// Entry is what happened last in a quarter of an hour.
type Entry struct {
	Start time.Time      `json:"start"`
	Step  nodestate.Step `json:"step"`
	Count int            `json:"count"`
	Claim string         `json:"claim,omitempty"`
	Why   string         `json:"why,omitempty"`
}

// always are the lanes that have a place on a quiet day too. Others show when something happened.
var always = []nodestate.Step{
	nodestate.StepLaunched, nodestate.StepMoved, nodestate.StepInterrupted, nodestate.StepTerminated, nodestate.StepFailed,
}

// sometimes are the steps that have a lane once they happen.
var sometimes = []nodestate.Step{
	nodestate.StepRefused, nodestate.StepDrifted, nodestate.StepExpired, nodestate.StepUnhealthy,
}

// Messages are the log lines that a timeline counts, beside those of failures.
func Messages() []string {
	var messages []string
	for _, entry := range nodestate.Steps() {
		if slices.Contains(always, entry.Step) || slices.Contains(sometimes, entry.Step) {
			messages = append(messages, entry.Messages...)
		}
	}
	return messages
}

// Of counts the lines of the day before a time.
func Of(lines []Line, now time.Time) *Timeline {
	var entries []Entry
	for _, line := range lines {
		step := nodestate.StepOfMessage(line.Message)
		why := line.Why
		if step == "" && line.Level == failedLevel {
			step, why = nodestate.StepFailed, line.Message
			if line.Why != "" {
				why += ": " + line.Why
			}
		}
		if step != "" {
			entries = append(entries, Entry{
				Start: line.Start.UTC(), Step: step, Count: line.Count, Claim: printable.Line(line.Claim), Why: printable.Line(why),
			})
		}
	}
	return made(entries, always, now)
}

// OfClaims is what the claims that exist tell of the day: launches, and the beginning of ends. Other steps
// have no lane, because nobody has looked for them.
func OfClaims(claims []api.NodeClaim, now time.Time) *Timeline {
	var entries []Entry
	add := func(at metav1.Time, step nodestate.Step, claim, why string) {
		entries = append(entries, Entry{Start: at.UTC(), Step: step, Count: 1, Claim: claim, Why: printable.Line(why)})
	}
	for i := range claims {
		claim := &claims[i]
		launched := api.GetCondition(claim.Status.Conditions, api.ConditionTypeLaunched)
		if launched != nil && launched.Status == metav1.ConditionTrue {
			add(launched.LastTransitionTime, nodestate.StepLaunched, claim.Name, "")
		}
		if claim.DeletionTimestamp != nil {
			why := ""
			if said := api.GetCondition(claim.Status.Conditions, api.ConditionTypeDisruptionReason); said != nil {
				why = said.Reason
			}
			add(*claim.DeletionTimestamp, nodestate.StepDraining, claim.Name, why)
		}
	}
	return made(entries, nil, now)
}

// made sorts entries into lanes. The given steps have one even where nothing happened.
func made(entries []Entry, quiet []nodestate.Step, now time.Time) *Timeline {
	entries = slices.DeleteFunc(entries, func(e Entry) bool {
		return e.Count <= 0 || !e.Start.After(now.Add(-Day-Every)) || e.Start.After(now)
	})
	byStep := map[nodestate.Step]map[time.Time]int{}
	for _, entry := range entries {
		if byStep[entry.Step] == nil {
			byStep[entry.Step] = map[time.Time]int{}
		}
		byStep[entry.Step][entry.Start.Truncate(Every)] += entry.Count
	}
	t := &Timeline{Until: now, Lanes: []Lane{}}
	for _, step := range nodestate.Steps() {
		if parts := byStep[step.Step]; parts != nil || slices.Contains(quiet, step.Step) {
			t.Lanes = append(t.Lanes, laneOf(step.Step, parts))
		}
	}
	slices.SortStableFunc(entries, func(a, b Entry) int {
		return cmp.Or(b.Start.Compare(a.Start), cmp.Compare(nodestate.PlaceOf(b.Step), nodestate.PlaceOf(a.Step)),
			cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.Why, b.Why))
	})
	t.Last = entries[:min(len(entries), maximumLast)]
	return t
}

func laneOf(step nodestate.Step, counts map[time.Time]int) Lane {
	lane := Lane{Step: step}
	for start, count := range counts {
		lane.Total += count
		lane.Parts = append(lane.Parts, Part{Start: start, Count: count})
	}
	slices.SortFunc(lane.Parts, func(a, b Part) int { return a.Start.Compare(b.Start) })
	return lane
}

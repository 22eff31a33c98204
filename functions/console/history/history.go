// Package history tells in order what Whittle did in a cluster, from the events that it wrote about
// objects. The API server keeps events for an hour.
//
// Its place: the command reads the events; this package selects and orders them, and prints lines.
package history

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/whittle-dev/whittle/functions/console/printable"
	"github.com/whittle-dev/whittle/functions/console/terminal"
	"github.com/whittle-dev/whittle/shared/cluster"
	"github.com/whittle-dev/whittle/shared/nodestate"
)

// Entry is something that Whittle did or could not do.
type Entry struct {
	Time time.Time `json:"time"`
	// Step is the word of the status and the page for what the event is about; empty for an unknown reason.
	Step nodestate.Step `json:"step,omitempty"`
	// Object is kind/name, or kind/namespace/name.
	Object  string `json:"object"`
	Type    string `json:"type"` // Normal or Warning
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Count is how often the event has happened.
	Count int32 `json:"count"`

	uid string
}

// Selection says which entries count.
type Selection struct {
	// Namespace is that of the objects; empty for all, and for objects without one.
	Namespace string
	// Since is the time before which entries do not count; zero for all.
	Since time.Time
	// Each wants a line for each pod, and not one for many.
	Each bool
}

// Of returns the entries of the events, the oldest first.
func Of(events []corev1.Event, selection Selection) []Entry {
	entries := []Entry{}
	for i := range events {
		event := &events[i]
		about := &event.InvolvedObject
		at := cluster.EventTime(event)
		if selection.Namespace != "" && about.Namespace != selection.Namespace || at.Before(selection.Since) {
			continue
		}
		object := strings.ToLower(about.Kind) + "/" + about.Name
		if about.Namespace != "" {
			object = strings.ToLower(about.Kind) + "/" + about.Namespace + "/" + about.Name
		}
		entries = append(entries, Entry{
			Time: at.UTC(), Step: nodestate.StepOfReason(event.Reason), Object: printable.Line(object), Type: event.Type,
			Reason:  printable.Line(event.Reason),
			Message: printable.Line(event.Message), Count: max(event.Count, 1), uid: string(event.UID),
		})
	}
	// Events have whole seconds, in which several happen. The steps have the order in which one leads to
	// the next.
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(nodestate.PlaceOf(a.Step), nodestate.PlaceOf(b.Step)),
			cmp.Compare(a.Object, b.Object), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.uid, b.uid))
	})
	return entries
}

// foldFrom is the number of pods from which their events of one reason are one line.
const foldFrom = 4

// folded are reasons of events about pods, of which one step of a node gives many, with what happened.
var folded = map[string]string{
	"Nominated": "pods were planned for a node", "Evicted": "pods were evicted", "Disrupted": "pods were deleted",
}

// folding makes one entry of the events of a reason about several pods that follow each other. Their messages
// say the same of each pod.
func folding(entries []Entry) []Entry {
	var kept []Entry
	for at := 0; at < len(entries); {
		end := at + 1
		for end < len(entries) && entries[end].Reason == entries[at].Reason && folded[entries[at].Reason] != "" {
			end++
		}
		if end-at < foldFrom {
			kept = append(kept, entries[at:end]...)
		} else {
			one := entries[end-1]
			one.Object, one.Count = fmt.Sprintf("%d pods", end-at), 1
			one.Message = fmt.Sprintf("%d %s, the last is %s", end-at, folded[one.Reason], entries[end-1].Object)
			kept = append(kept, one)
		}
		at = end
	}
	return kept
}

// Follower remembers what was told, so that each entry is told once. An event that happens again is a
// new entry.
type Follower struct{ told map[string]bool }

// NewFollower returns a Follower that has told nothing.
func NewFollower() *Follower { return &Follower{told: map[string]bool{}} }

// New returns those of the entries that were not told yet, and remembers them. It forgets what is no
// longer among the entries.
func (f *Follower) New(entries []Entry) []Entry {
	fresh, told := []Entry{}, map[string]bool{}
	for _, entry := range entries {
		key := fmt.Sprintf("%s %d %d", entry.uid, entry.Count, entry.Time.Unix())
		if !f.told[key] {
			fresh = append(fresh, entry)
		}
		told[key] = true
	}
	f.told = told
	return fresh
}

// Write writes a line for each entry, in columns of fixed widths, so that lines written later fit.
func Write(out io.Writer, entries []Entry, selection Selection, style terminal.Style) error {
	var text strings.Builder
	if !selection.Each {
		entries = folding(entries)
	}
	for _, entry := range entries {
		color := terminal.Plain
		if entry.Type == corev1.EventTypeWarning {
			color = terminal.Yellow
		}
		message := entry.Message
		if entry.Count > 1 {
			message += fmt.Sprintf(" (%d times)", entry.Count)
		}
		line := fmt.Sprintf("%s  %s  %-24s  %-36s  %s", entry.Time.Format(time.DateTime),
			style.Paint(color, fmt.Sprintf("%-12s", entry.Step)), entry.Reason, entry.Object, message)
		if style.Width > 0 && !style.Color {
			line = terminal.Cut(line, style.Width)
		}
		text.WriteString(line + "\n")
	}
	_, err := io.WriteString(out, text.String())
	return err
}
